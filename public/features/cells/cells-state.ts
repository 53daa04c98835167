/**
 * The cells of a person, and what waits and runs in them.
 *
 * The forwarder lists the cells with their numbers. What is asked and done there is read from the owner of each cell that has
 * something, as the person, so the rights are checked where they are known, and a cell without anything is left to sleep.
 */
import { batch, signal } from '@preact/signals'
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

export type Cells = ReturnType<typeof createCells>

export const createCells = (given: {
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
}) => {
  const { base, person, clock, isHidden, onGone } = given
  const cells = signal<readonly ListedCell[]>(given.first)
  const works = signal<ReadonlyMap<string, CellWork>>(new Map())
  const isStale = signal(false)

  const request: typeof fetch = async (url, init) => {
    const headers = new Headers(init?.headers)
    headers.set(VISITOR_HEADER, person)
    const response = await given.fetch(url, { ...init, headers })
    clock.observe(response.headers.get('date'))
    return response
  }
  const apis = new Map<string, ApiCall>()
  const apiOf = (path: string): ApiCall => {
    const known = apis.get(path)
    if (known) return known
    const made = createApi({
      fetch: request,
      base: new URL(path, base).href,
      // In the page of the cell.
      signIn: () => Promise.reject(new ApiError(401, '')),
      unreachable: given.unreachable,
      onOtherAccount: onGone,
    })
    apis.set(path, made)
    return made
  }
  const workOf = (path: string): CellWork => works.value.get(path) ?? NOTHING

  /** Of the last read that began: one that began before an answer must not show the question again. */
  const begun = new Map<string, number>()
  const readWork = async (path: string, timeoutMs: number): Promise<void> => {
    const api = apiOf(path)
    const number = (begun.get(path) ?? 0) + 1
    begun.set(path, number)
    const setWork = (work: CellWork): void => {
      if (begun.get(path) === number) works.value = new Map(works.value).set(path, work)
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
      const reason = error instanceof ApiError ? error.message : given.unreachable()
      if (status === 401) setWork({ ...NOTHING, problem: { kind: 'sign-in' } })
      else {
        // Whom the cell refuses sees no more what was there.
        const before = status === 403 ? NOTHING : workOf(path)
        setWork({ ...before, problem: { kind: 'failed', reason } })
      }
    }
  }

  /** One after the other: browsers open few connections to a host, and answers need one too. */
  const readWorks = async (isAwake: boolean): Promise<void> => {
    for (const { path } of cells.value) {
      const now = cells.value.find(each => each.path === path)
      if (now && isBusy(now) && now.is_awake === isAwake)
        await readWork(path, isAwake ? LIST_MS : START_MS)
    }
  }

  const readList = async (): Promise<void> => {
    try {
      const signal = AbortSignal.timeout(LIST_MS)
      const reply = await request(new URL('forward/cells', base), { signal })
      if ([401, 403, 409].includes(reply.status)) onGone()
      if (!reply.ok) throw new Error(reply.statusText)
      const { cells: listed } = (await reply.json()) as { cells: readonly ListedCell[] }
      const busy = new Set(listed.filter(isBusy).map(({ path }) => path))
      batch(() => {
        cells.value = listed
        works.value = new Map([...works.value].filter(([path]) => busy.has(path)))
        isStale.value = false
      })
    } catch {
      isStale.value = true
    }
  }

  const repeat = async (work: () => Promise<void>, everyMs: number): Promise<void> => {
    for (;;) {
      if (!isHidden()) await work()
      await clock.delay(everyMs)
    }
  }

  return {
    clock,
    cells,
    works,
    isStale,
    readList,

    /** Reads until the page is closed, while it is visible. */
    watch(): void {
      void repeat(readList, LIST_MS)
      void repeat(() => readWorks(true), WORK_MS)
      // A cell that another worker has to start first.
      void repeat(() => readWorks(false), WORK_MS)
    },

    async answer(path: string, question: Question, text: string): Promise<Outcome | null> {
      const outcome = await answerQuestion(apiOf(path), question, text)
      // Shows what became of it, also after an error: it may have arrived.
      await readWork(path, LIST_MS)
      return outcome
    },
  }
}
