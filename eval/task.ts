/** A task of the evaluation: a repository, a request, a scripted solution, and a check of what came of it. */
import { writeFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, writeFiles } from '../test/_git.ts'
import type { Step } from '../test/_provider.ts'

/** What a scripted step may depend on. */
export type Seen = {
  workspace: string
  /** The content of the newest tool result; empty before the first. */
  result: string
  /** The results of the newest step with tool calls, in the order of its calls. */
  results: readonly string[]
  /** All results that the model can read, oldest first. */
  all: readonly string[]
}

/** One answer of the scripted model. A function that throws ends the task with its sentence. */
export type ScriptStep = Step | ((seen: Seen) => Step)

export type Outcome = {
  workspace: string
  /** The last text of the assistant. */
  answer: string
  /** Content of a file of the workspace; bytes as Latin-1. */
  read: (path: string, encoding?: BufferEncoding) => string
  git: (...args: string[]) => string
  /** Runs a file of the workspace on this Node: its exit code and output. */
  node: (...args: string[]) => { code: number | null; output: string }
}

export type Task = {
  id: string
  /** What a failure of this task would say about the engine. */
  what: string
  prompt: string
  /** Further messages of the user, each after the end of the turn before. */
  followUps?: readonly string[]
  /** Writes the repository. `size` scales large inputs: 1 is the full size. */
  setup: (workspace: string, size: number) => void
  /** How a competent model solves it; used when no model is configured. */
  script: readonly ScriptStep[]
  /** How subagents solve their tasks, by goal. */
  subagents?: Readonly<Record<string, readonly ScriptStep[]>>
  /** Throws a sentence when the task is not solved. */
  check: (outcome: Outcome) => void
  /** The service is killed after this many tool results, and the turn continues after its restart. */
  killAfter?: number
}

/** A step that makes one tool call. */
export const call = (name: string, args: Record<string, unknown>): Step => ({
  toolCalls: [{ name, arguments: args }],
})

/** A step that makes several tool calls. */
export const calls = (...steps: readonly Step[]): Step => ({
  toolCalls: steps.flatMap(({ toolCalls }) => toolCalls ?? []),
})

export const run = (command: string, more: Record<string, unknown> = {}): Step =>
  call('terminal', { command, ...more })

export const answer = (text: string): Step => ({ text })

export const expect = (isMet: boolean, sentence: string): void => {
  if (!isMet) throw new Error(sentence)
}

/** Files under git, in one commit. */
export const createRepository = (
  workspace: string,
  files: Readonly<Record<string, string>>,
): void => {
  writeFiles(workspace, files)
  git(workspace, 'init', '--quiet', '--template=', '--initial-branch=main')
  commitAll(workspace, 'Start')
}

export const commitAll = (workspace: string, message: string): void => {
  git(workspace, 'add', '-A')
  git(workspace, 'commit', '--quiet', '-m', message)
}

export const replaceIn = (workspace: string, path: string, from: string, to: string): void => {
  const full = join(workspace, path)
  writeFileSync(full, readFileSync(full, 'utf8').replace(from, to))
}
