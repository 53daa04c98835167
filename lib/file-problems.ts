/** Files that a person or another program damaged: looked for again and again, logged and told once when something changes. */
import { join } from 'node:path'
import type { Home } from './profiles/home.ts'
import type { Projects } from './projects.ts'
import type { FileProblem } from './schema/file-problem.ts'
import type { Workspaces } from './workspaces/workspaces.ts'

export type FileSources = {
  homes: { list: () => Home[] }
  workspaces: Pick<Workspaces, 'problem'>
  projects: Pick<Projects, 'problem'>
  /** The tasks of a home. */
  jobsOf: (home: Home) => { problem: () => string | null; isLost: () => boolean }
}

/** Everything a person or another program may write, as it stands now. */
export const createFileCheck = ({ homes, workspaces, projects, jobsOf }: FileSources) => {
  const jobsProblem = (home: Home) => {
    const jobs = jobsOf(home)
    const reason = jobs.problem()
    if (reason === null) return null
    return { file: join(home.dir, 'cron', 'jobs.json'), reason, in_force: !jobs.isLost() }
  }
  const ofHome = (home: Home): FileProblem[] =>
    [...home.problems(), workspaces.problem(home), jobsProblem(home)].flatMap(found =>
      found ? [{ profile: home.name, ...found }] : [],
    )
  return (): FileProblem[] => {
    const shared = projects.problem()
    return [...homes.list().flatMap(ofHome), ...(shared ? [{ profile: null, ...shared }] : [])]
  }
}

export type FileProblemsOptions = {
  /** As they stand now; reading them must be cheap. */
  check: () => FileProblem[]
  log: (line: string) => void
  /** Told to open pages. */
  notify: (level: 'error' | 'info', message: string) => void
  intervalMs?: number
}

const EVERY_MS = 2_000

const keyOf = ({ file, reason, in_force }: FileProblem): string => `${file}\0${reason}\0${in_force}`

/** What is wrong and what follows from it. */
export const toSentence = ({ file, reason, in_force }: FileProblem): string =>
  `${file} cannot be read: ${reason}. ${
    in_force
      ? 'The last version that could be read stays in use.'
      : 'What depends on it is refused until it is mended.'
  }`

export type FileProblems = ReturnType<typeof watchFileProblems>

export const watchFileProblems = ({
  check,
  log,
  notify,
  intervalMs = EVERY_MS,
}: FileProblemsOptions) => {
  let known = new Map<string, FileProblem>()

  /** As it stands now; a change is told on the way. */
  const list = (): FileProblem[] => {
    const found = new Map(check().map(problem => [keyOf(problem), problem]))
    const before = known
    known = found
    for (const [key, problem] of found) {
      if (before.has(key)) continue
      log(toSentence(problem))
      notify('error', toSentence(problem))
    }
    const broken = new Set([...found.values()].map(({ file }) => file))
    for (const { file } of new Map([...before.values()].map(each => [each.file, each])).values()) {
      if (broken.has(file)) continue
      log(`${file} can be read again`)
      notify('info', `${file} can be read again.`)
    }
    return [...found.values()]
  }

  const timer = setInterval(list, intervalMs)
  timer.unref()
  return { list, close: () => clearInterval(timer) }
}
