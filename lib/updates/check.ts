/** Checks the git remotes for updates; results are cached for half an hour. */
import { type Clock, toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import type { UpdateCheck, UpdateOutcome, UpdateState } from '../schema/update.ts'
import { compareRef, FETCH_MS, type Git, gitIn, isCheckout, outputOf } from './git.ts'
import { fetchRelease, isNewer } from './release.ts'

const CACHE_MS = 30 * 60_000

export type Checkouts = {
  /** The service's own, and the agent's; null where there is none. */
  webui: string | null
  agent: string | null
}

export type CheckOptions = {
  checkouts: () => Checkouts
  /** Address of the list of releases; null for none, and for a program that is no single file. */
  releases?: string | null | undefined
  /** The version that is running. */
  version?: string | undefined
  /** How the last update ended. */
  last?: (() => UpdateOutcome | null) | undefined
  env: Readonly<Record<string, string>>
  clock: Clock
}

const stateOf = async (name: string, git: Git): Promise<UpdateState> => {
  if (!(await git(['fetch', '--quiet'], FETCH_MS)).ok) {
    return { name, behind: 0, error: 'fetch failed' }
  }
  const branch = await compareRef(git)
  const [count, current_sha, latest_sha] = await Promise.all([
    outputOf(git(['rev-list', '--count', `HEAD..${branch}`])),
    outputOf(git(['rev-parse', '--short', 'HEAD'])),
    outputOf(git(['rev-parse', '--short', branch])),
  ])
  const behind = Number(count) || 0
  const changes = behind > 0 ? await changesSince(git, branch) : ''
  return { name, behind, current_sha, latest_sha, branch, ...(changes && { changes }) }
}

const MAX_CHANGES_CHARS = 20_000
const MAX_TITLES = 50

/** The new lines of CHANGELOG.md, else the titles of the commits. */
const changesSince = async (git: Git, branch: string): Promise<string> => {
  const range = `HEAD...${branch}`
  const diff = await outputOf(git(['diff', '--unified=0', range, '--', 'CHANGELOG.md']))
  const added = diff
    .split('\n')
    .filter(line => line.startsWith('+') && !line.startsWith('+++'))
    .map(line => line.slice(1))
    .join('\n')
    .trim()
  if (added) return added.slice(0, MAX_CHANGES_CHARS)
  const titles = await outputOf(
    git(['log', `--max-count=${MAX_TITLES}`, '--no-merges', '--format=- %s', `HEAD..${branch}`]),
  )
  return titles.slice(0, MAX_CHANGES_CHARS)
}

const releaseState = async (address: string, version: string): Promise<UpdateState> => {
  const name = 'webui'
  try {
    const { version: latest_sha, notes: changes } = await fetchRelease(address)
    const behind = isNewer(latest_sha, version) ? 1 : 0
    const state = { name, behind, current_sha: version, latest_sha, release: true as const }
    return { ...state, ...(behind && changes && { changes }) }
  } catch (error) {
    return { name, behind: 0, release: true, error: messageOf(error) }
  }
}

/** Made-up updates for trying out the page. */
export const simulatedUpdates: UpdateCheck = {
  webui: {
    name: 'webui',
    behind: 3,
    current_sha: 'abc1234',
    latest_sha: 'def5678',
    branch: 'origin/master',
  },
  agent: {
    name: 'agent',
    behind: 1,
    current_sha: 'aaa0001',
    latest_sha: 'bbb0002',
    branch: 'origin/master',
  },
  checked_at: 0,
}

export const createUpdateChecker = (options: CheckOptions) => {
  const { checkouts, env, releases = null, version = '', last, clock } = options
  let cached: { at: number; found: UpdateCheck } | null = null
  let running: Promise<UpdateCheck> | null = null

  const fetchStates = async (): Promise<UpdateCheck> => {
    const { webui, agent } = checkouts()
    const one = (name: string, dir: string | null) =>
      isCheckout(dir) ? stateOf(name, gitIn(dir, env)) : null
    const own =
      !isCheckout(webui) && releases !== null
        ? releaseState(releases, version)
        : one('webui', webui)
    const [ours, theirs] = await Promise.all([own, one('agent', agent)])
    const outcome = last?.() ?? null
    return {
      webui: ours,
      agent: theirs,
      checked_at: toSeconds(clock.now()),
      ...(outcome && { last: outcome }),
    }
  }

  return {
    /** Concurrent calls share one check. */
    async check({ force = false } = {}): Promise<UpdateCheck> {
      if (running) return running
      if (!force && cached && clock.monotonic() - cached.at < CACHE_MS) return cached.found
      running = fetchStates()
      try {
        const found = await running
        cached = { at: clock.monotonic(), found }
        return found
      } finally {
        running = null
      }
    },
    /** The cached result. */
    known: (): UpdateCheck => cached?.found ?? { webui: null, agent: null, checked_at: 0 },
    /** Settles when no check is running: concurrent fetches in one checkout fail on git's locks. */
    whenIdle: async (): Promise<void> => {
      await running?.catch(() => undefined)
    },
    /** Drops the cached result. */
    forget(): void {
      cached = null
    },
  }
}
