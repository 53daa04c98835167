/** Checks the git remotes for updates; results are cached for half an hour. */
import { type Clock, toSeconds } from '../../base/clock.ts'
import type { UpdateCheck, UpdateState } from '../../schema/update.ts'
import { compareRef, FETCH_MS, type Git, gitIn, isCheckout, outputOf } from './git.ts'

const CACHE_MS = 30 * 60_000

export type Checkouts = {
  /** The service's own, and the agent's; null where there is none. */
  webui: string | null
  agent: string | null
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

export class UpdateChecker {
  readonly #options
  #cached: { at: number; result: UpdateCheck } | null = null
  #running: Promise<UpdateCheck> | null = null

  constructor(options: {
    checkouts: () => Checkouts
    env: Readonly<Record<string, string>>
    clock: Clock
  }) {
    this.#options = options
  }

  /** Concurrent calls share one check. */
  async check({ force = false } = {}): Promise<UpdateCheck> {
    if (this.#running) return this.#running
    if (!force && this.#cached && this.#options.clock.monotonic() - this.#cached.at < CACHE_MS)
      return this.#cached.result
    this.#running = this.#fetchStates()
    try {
      const result = await this.#running
      this.#cached = { at: this.#options.clock.monotonic(), result }
      return result
    } finally {
      this.#running = null
    }
  }

  /** The cached result. */
  lastResult(): UpdateCheck {
    return this.#cached?.result ?? { webui: null, agent: null, checked_at: 0 }
  }

  /** Settles when no check is running: concurrent fetches in one checkout fail on git's locks. */
  async whenIdle(): Promise<void> {
    await this.#running?.catch(() => undefined)
  }

  /** Drops the cached result. */
  forget(): void {
    this.#cached = null
  }

  async #fetchStates(): Promise<UpdateCheck> {
    const { webui, agent } = this.#options.checkouts()
    const one = (name: string, dir: string | null) =>
      isCheckout(dir) ? stateOf(name, gitIn(dir, this.#options.env)) : null
    const [ours, theirs] = await Promise.all([one('webui', webui), one('agent', agent)])
    return { webui: ours, agent: theirs, checked_at: toSeconds(this.#options.clock.now()) }
  }
}
