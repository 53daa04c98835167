/** Why something does not work, as the server says it, with the code of that sentence. */
import type { Coded } from '../../lib/base/sentences.ts'

export type Problem = { words: string; coded: Coded | undefined }

type Reply = {
  problem?: string | null | undefined
  sentences?: Readonly<Record<string, Coded>> | undefined
}

export const problemOf = ({ problem, sentences }: Reply): Problem | null =>
  problem ? { words: problem, coded: sentences?.problem } : null
