/** Watches shared files for damage by hand edits or other programs; each change is logged and shown once. */
import { type Words, withCodes } from '../base/sentences.ts'
import type { UnreadableFile } from '../schema/file-problem.ts'
import { join } from 'node:path'
import { type Clock, every } from '../base/clock.ts'
import type { Home } from '../profiles/home.ts'
import type { FileProblem } from '../schema/file-problem.ts'
import type { Notify } from '../schema/notice.ts'

export type FileSources = {
  homes: { list: () => Home[] }
  workspaces: { problem(home: Home): UnreadableFile | null }
  /** Files of the service itself. */
  own: readonly { problem: () => UnreadableFile | null }[]
  /** The scheduled jobs of a home. */
  jobsOf: (home: Home) => { problem: () => Words | null; isLost: () => boolean }
}

type HomeProblem = UnreadableFile & { profile: FileProblem['profile'] }

/** Everything a person or another program may write, at this moment. */
export const findFileProblems = ({
  homes,
  workspaces,
  jobsOf,
  own,
}: FileSources): HomeProblem[] => {
  const jobsProblem = (home: Home) => {
    const jobs = jobsOf(home)
    const reason = jobs.problem()
    if (reason === null) return null
    return { file: join(home.dir, 'cron', 'jobs.json'), reason, in_force: !jobs.isLost() }
  }
  const ofHome = (home: Home): HomeProblem[] =>
    [...home.problems(), workspaces.problem(home), jobsProblem(home)].flatMap(problem =>
      problem ? [{ profile: home.name, ...problem }] : [],
    )
  const shared = own.flatMap(each => each.problem() ?? [])
  return [
    ...homes.list().flatMap(ofHome),
    ...shared.map(problem => ({ profile: null, ...problem })),
  ]
}

const CHECK_MS = 2_000

const keyOf = ({ file, reason, in_force }: HomeProblem): string => `${file}\0${reason}\0${in_force}`

/** The problem and its consequence. */
export const toSentence = ({ file, reason, in_force }: UnreadableFile): string =>
  `${file} cannot be read: ${reason}. ${
    in_force
      ? 'The last valid version stays in use.'
      : 'Features that depend on it are unavailable until it is fixed.'
  }`

export class FileProblems {
  readonly #sources: FileSources
  readonly #log: (line: string) => void
  readonly #notify: Notify
  readonly #stopChecks: () => void
  #problems = new Map<string, HomeProblem>()

  constructor(sources: FileSources, log: (line: string) => void, notify: Notify, clock: Clock) {
    this.#sources = sources
    this.#log = log
    this.#notify = notify
    this.#stopChecks = every(clock, CHECK_MS, () => void this.list())
  }

  /** The current problems. Reports changes since the last call. */
  list(): FileProblem[] {
    const problems = new Map(
      findFileProblems(this.#sources).map(problem => [keyOf(problem), problem]),
    )
    const before = this.#problems
    this.#problems = problems
    for (const [key, problem] of problems) {
      if (before.has(key)) continue
      this.#log(toSentence(problem))
      const { file, reason, in_force: isKept } = problem
      this.#notify('error', toSentence(problem), {
        code: isKept ? 'file_kept' : 'file_lost',
        values: { file, reason },
      })
    }
    const broken = new Set([...problems.values()].map(({ file }) => file))
    const fixed = [...before.values()].map(({ file }) => file).filter(file => !broken.has(file))
    for (const file of new Set(fixed)) {
      this.#log(`${file} can be read again`)
      this.#notify('info', `${file} can be read again.`, {
        code: 'file_readable',
        values: { file },
      })
    }
    return [...problems.values()].map(withCodes)
  }

  close(): void {
    this.#stopChecks()
  }
}
