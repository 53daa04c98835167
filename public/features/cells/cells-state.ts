/**
 * The cells of a person, and what waits and runs in them.
 *
 * The forwarder lists the cells with their numbers. What is asked and done there is read from the owner of each cell that has
 * something, as the person, so the rights are checked where they are known, and a cell without anything is left to sleep.
 */
import { batch, signal, type Signal } from '@preact/signals'
import { VISITOR_HEADER } from '../../../lib/base/page-headers.ts'
import type { ListedCell } from '../../../lib/schema/cell.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Api } from '../../../router.ts'
import { type ApiCall, ApiError, createApi } from '../../api.ts'
import { answerQuestion, type Outcome } from '../approvals/answer.ts'
import type { ServerClock } from '../../parts/server-clock.ts'

type Inbox = Api['GET /api/inbox']['output']
export type Turn = Api['GET /api/running']['output']['turns'][number]

/** What was read last in a cell. */
export type CellWork = Pick<Inbox, 'questions' | 'sessions' | 'refused'> & {
  turns: readonly Turn[]
  /** Why it could not be read since; `sign-in`: the person has to sign in there. */
  problem: { kind: 'sign-in' } | { kind: 'failed'; reason: string } | null
}

const LIST_MS = 5_000
const WORK_MS = 2_000
/** Longer than a forwarder waits for an owner. */
const START_MS = 20_000

const NOTHING: CellWork = { questions: [], sessions: [], refused: [], turns: [], problem: null }

const isBusy = ({ running, waiting }: ListedCell): boolean => running > 0 || waiting > 0

export class Cells {
  readonly #options: {
    /** Of the page. */
    base: string
    /** For whom the page was made. */
    person: string
    first: readonly ListedCell[]
    fetch: typeof fetch
    clock: ServerClock
    isHidden: () => boolean
    unreachable: () => string
    /** The person is signed out, is another one by now, or has no cell any more. */
    onGone: () => void
  }
  readonly cells: Signal<readonly ListedCell[]>
  readonly works = signal<ReadonlyMap<string, CellWork>>(new Map())
  readonly isStale = signal(false)
  readonly #apis = new Map<string, ApiCall>()
  /** Of the last read that began: one that began before an answer must not show the question again. */
  readonly #begun = new Map<string, number>()
  readonly clock: ServerClock

  constructor(options: {
    /** Of the page. */
    base: string
    /** For whom the page was made. */
    person: string
    first: readonly ListedCell[]
    fetch: typeof fetch
    clock: ServerClock
    isHidden: () => boolean
    unreachable: () => string
    /** The person is signed out, is another one by now, or has no cell any more. */
    onGone: () => void
  }) {
    const { clock } = options
    this.#options = options
    this.cells = signal<readonly ListedCell[]>(options.first)
    this.clock = clock
  }

  readonly #request: typeof fetch = async (url, init) => {
    const { person } = this.#options
    const headers = new Headers(init?.headers)
    headers.set(VISITOR_HEADER, person)
    const response = await this.#options.fetch(url, { ...init, headers })
    this.clock.observe(response.headers.get('date'))
    return response
  }

  readonly readList = async (): Promise<void> => {
    const { base, onGone } = this.#options
    try {
      const signal = AbortSignal.timeout(LIST_MS)
      const reply = await this.#request(new URL('forward/cells', base), { signal })
      if ([401, 403, 409].includes(reply.status)) onGone()
      if (!reply.ok) throw new Error(reply.statusText)
      const { cells: list } = (await reply.json()) as { cells: readonly ListedCell[] }
      const busy = new Set(list.filter(isBusy).map(({ path }) => path))
      batch(() => {
        this.cells.value = list
        this.works.value = new Map([...this.works.value].filter(([path]) => busy.has(path)))
        this.isStale.value = false
      })
    } catch {
      this.isStale.value = true
    }
  }

  /** Reads until the page is closed, while it is visible. */
  watch(): void {
    void this.#repeat(this.readList, LIST_MS)
    void this.#repeat(() => this.#readWorks(true), WORK_MS)
    // A cell that another worker has to start first.
    void this.#repeat(() => this.#readWorks(false), WORK_MS)
  }

  async answer(path: string, question: Question, text: string): Promise<Outcome | null> {
    const outcome = await answerQuestion(this.#apiOf(path), question, text)
    // Shows what became of it, also after an error: it may have arrived.
    await this.#readWork(path, LIST_MS)
    return outcome
  }

  #apiOf(path: string): ApiCall {
    const { base, onGone } = this.#options
    const cached = this.#apis.get(path)
    if (cached) return cached
    const api = createApi({
      fetch: this.#request,
      base: new URL(path, base).href,
      // In the page of the cell.
      signIn: () => Promise.reject(new ApiError(401, '')),
      unreachable: this.#options.unreachable,
      onOtherAccount: onGone,
    })
    this.#apis.set(path, api)
    return api
  }

  #workOf(path: string): CellWork {
    return this.works.value.get(path) ?? NOTHING
  }

  async #readWork(path: string, timeoutMs: number): Promise<void> {
    const api = this.#apiOf(path)
    const number = (this.#begun.get(path) ?? 0) + 1
    this.#begun.set(path, number)
    const setWork = (work: CellWork): void => {
      if (this.#begun.get(path) === number)
        this.works.value = new Map(this.works.value).set(path, work)
    }
    try {
      const options = { signal: AbortSignal.timeout(timeoutMs) }
      // A cell of another version may say less.
      const inbox = await api('GET /api/inbox', undefined, options)
      const { questions = [], sessions = [], refused = [] } = inbox
      const { turns = [] } = await api('GET /api/running', undefined, options)
      setWork({ questions, sessions, refused, turns, problem: null })
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0
      const reason = error instanceof ApiError ? error.message : this.#options.unreachable()
      if (status === 401) setWork({ ...NOTHING, problem: { kind: 'sign-in' } })
      else {
        // Whom the cell refuses sees no more what was there.
        const before = status === 403 ? NOTHING : this.#workOf(path)
        setWork({ ...before, problem: { kind: 'failed', reason } })
      }
    }
  }

  /** One after the other: browsers open few connections to a host, and answers need one too. */
  async #readWorks(isAwake: boolean): Promise<void> {
    for (const { path } of this.cells.value) {
      const now = this.cells.value.find(each => each.path === path)
      if (now && isBusy(now) && now.is_awake === isAwake)
        await this.#readWork(path, isAwake ? LIST_MS : START_MS)
    }
  }

  async #repeat(work: () => Promise<void>, everyMs: number): Promise<void> {
    const { isHidden } = this.#options
    for (;;) {
      if (!isHidden()) await work()
      await this.clock.delay(everyMs)
    }
  }
}
