/** The fold agrees with a reference implementation on random journals, read at once or line by line. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type JournalEntry,
  formatEntry,
  isPlainMessage,
  messageHead,
  parseEntry,
} from '../../../lib/sessions/entries.ts'
import { applyEntry, emptySummary, foldForward, isHidden } from '../../../lib/sessions/fold.ts'
import type { JournalLine } from '../../../lib/store/journal.ts'
import type { Message } from '../../../lib/schema/message.ts'

const test = suite('sessions/fold')

/** Deterministic, so that a failing seed can be repeated. */
const dice = (seed: number) => {
  let state = seed * 2_654_435_761 + 1
  return (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return state % below
  }
}

const toLines = (texts: readonly string[]): JournalLine[] =>
  texts.map(text => ({ offset: 0, bytes: Buffer.from(text) }))

const KEYS = ['title', 'model', 'pinned', 'composer_draft', 'odd']
const draft = (text: string) => ({ text, files: [] })

const randomEntry = (n: number, roll: (below: number) => number, seed: number): JournalEntry => {
  const at = 1_000 + roll(500)
  const stream_id = `s${roll(4)}`
  const question = (id: string) => ({
    kind: 'clarify' as const,
    clarify_id: id,
    session_id: 'x',
    question: '?',
    choices_offered: [],
    requested_at: 1,
  })
  switch (roll(16)) {
    case 0:
      return { n, t: 'cut', at, after: roll(n) }
    case 1:
      return { n, t: 'uncut', at, cut: roll(n) }
    case 2:
    case 3: {
      const key = KEYS[roll(KEYS.length)] as string
      const value = key === 'composer_draft' ? draft(`d${n}`) : `v${n}`
      return { n, t: 'meta', at, patch: { [key]: roll(3) === 0 ? null : value } }
    }
    case 4:
      return { n, t: 'asked', at, question: question(`q${roll(5)}`) }
    case 5:
      return {
        ...{ n, t: 'answered', at, id: `q${roll(5)}`, kind: 'clarify', answer: 'a' },
        ...(roll(3) === 0 && { answer: '', by: 'timeout' }),
        ...(roll(4) === 0 && { auto: 'rule' }),
      } as JournalEntry
    case 6:
      return {
        ...({ n, t: 'turn_started', at, stream_id, model: 'm', provider: 'p' } as const),
        message_id: `m${n}`,
        ...(roll(2) && { replaces: `m${roll(n)}` }),
      }
    case 7:
      return { n, t: 'turn_ended', at, stream_id, how: 'done' }
    case 8:
      if (roll(3) === 0) return { n, t: 'unsummary', at, summary: roll(n) }
      return { n, t: 'summary', at, from: 1 + roll(n), to: 1 + roll(n), text: `sum ${n}` }
    case 9:
      return { n, t: 'renamed', at, from: `old${roll(3)}`, to: 'x' }
    case 10:
      return { n, t: 'provider_state', at, id: `m${roll(n)}`, key: 'k', items: [{ n }] }
    case 11: {
      const cuts = Array.from({ length: roll(4) }, (): [number, number] => [1 + roll(n), roll(n)])
      return { n, t: 'show', at, after: roll(n), cuts }
    }
    default:
      return {
        n,
        t: 'message',
        at,
        message: {
          ...{ id: `m${n}`, role: roll(2) ? 'user' : 'assistant', content: `text ${n}` },
          ...(seed % 2 === 0 || roll(3) > 0 ? { timestamp: at } : {}),
        } as Message,
      }
  }
}

const randomJournal = (seed: number): string[] => {
  const roll = dice(seed)
  const lines = [
    formatEntry({ n: 1, t: 'session', at: 900, v: 1, id: 'x', meta: { title: 'first', odd: 1 } }),
  ]
  const length = roll(60)
  let n = 2
  for (let index = 0; index < length; index += 1) {
    const chance = roll(40)
    if (chance === 0) lines.push('{"n":3,"t":"message","mess')
    else if (chance === 1) lines.push(`{"n":${n++},"t":"of a newer version"}`)
    else if (chance === 2) lines.push('')
    else {
      // Sometimes a gap, and a line with a wrong number.
      lines.push(formatEntry(randomEntry(chance === 3 ? Math.max(2, n - 3) : n, roll, seed)))
      n += chance === 4 ? 5 : 1
    }
  }
  return lines
}

/** The reference: an answer belongs to every question above it with its id that has none yet. */
const decidedByTheBook = (texts: readonly string[]): string[] => {
  const entries = texts.map(parseEntry)
  const shown = new Set(visibleByTheBook(texts))
  let last: string | null = null
  return entries.flatMap((entry, index) => {
    if (!entry || entry === 'unknown') return []
    if (entry.t === 'message' && shown.has(entry.message.id)) last = entry.message.id
    if (entry.t !== 'asked' || last === null || isCutByTheBook(entries, index)) return []
    const id = entry.question.kind === 'clarify' ? entry.question.clarify_id : ''
    const answer = entries
      .slice(index)
      .find(each => each && each !== 'unknown' && each.t === 'answered' && each.id === id)
    return answer && answer !== 'unknown' ? [`${last} ${id} ${answer.at}`] : []
  })
}

/** A cut hides every earlier line with a number larger than `after`; the last `show` takes the place of all cuts above it. */
const isCutByTheBook = (entries: readonly ReturnType<typeof parseEntry>[], index: number) => {
  const entry = entries[index]
  if (!entry || entry === 'unknown') return false
  const last = entries.findLastIndex(each => each && each !== 'unknown' && each.t === 'show')
  const show = entries[last]
  const gaps = show && show !== 'unknown' && show.t === 'show' ? show.cuts : []
  if (index < last && gaps.some(([to, from]) => from < entry.n && entry.n < to)) return true
  return entries.some(
    (cut, at) =>
      cut &&
      cut !== 'unknown' &&
      at > index &&
      at >= last &&
      (cut.t === 'cut' || cut.t === 'show') &&
      entry.n > cut.after &&
      !entries.some(
        (undo, later) =>
          undo && undo !== 'unknown' && later > at && undo.t === 'uncut' && undo.cut === cut.n,
      ),
  )
}

const visibleByTheBook = (texts: readonly string[]): string[] => {
  const entries = texts.map(parseEntry)
  return entries.flatMap((entry, index) => {
    if (!entry || entry === 'unknown' || entry.t !== 'message') return []
    return isCutByTheBook(entries, index) ? [] : [entry.message.id]
  })
}

test('fold and reference agree on 1,000 random journals', () => {
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const texts = randomJournal(seed)
    const { folded, summary } = foldForward('x', toLines(texts))
    assert.equal(
      folded.messages.map(({ id }) => id),
      visibleByTheBook(texts),
      `seed ${seed}`,
    )
    assert.equal(
      folded.messages.flatMap(({ id: message, _decisions: all = [] }) =>
        all.map(({ id, answered_at }) => `${message} ${id} ${answered_at}`),
      ),
      decidedByTheBook(texts),
      `seed ${seed}`,
    )
    assert.is(summary.count, folded.messages.length)
    if (!summary.clean) continue
    const ids = texts
      .map(parseEntry)
      .flatMap(entry =>
        entry && entry !== 'unknown' && entry.t === 'message' && !isHidden(summary.cuts, entry.n)
          ? [entry.message.id]
          : [],
      )
    assert.equal(
      ids,
      folded.messages.map(({ id }) => id),
      `seed ${seed}, by number`,
    )
  }
})

test('never reuses the number of a line of a newer version', () => {
  const texts = [
    formatEntry({ n: 1, t: 'session', at: 1, v: 1, id: 'x', meta: {} }),
    '{"n":7,"t":"of a newer version"}',
  ]
  assert.is(foldForward('x', toLines(texts)).summary.nextN, 8)
})

test('incremental folding gives the same summary, except for counts after a cut', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const texts = randomJournal(seed + 9_000).filter(
      text => !/"t":"(cut|uncut|show|of a newer version)"/.test(text),
    )
    const summary = emptySummary('x')
    for (const text of texts) {
      const entry = parseEntry(text)
      if (entry && entry !== 'unknown') applyEntry(summary, entry)
    }
    const whole = foldForward('x', toLines(texts)).summary
    assert.equal({ ...summary, bad: whole.bad, clean: whole.clean }, whole, `seed ${seed}`)
  }
})

test('rejects unsafe lines', () => {
  for (const text of [
    'null',
    '[]',
    '"x"',
    '{}',
    '{"n":0,"t":"meta","patch":{}}',
    '{"n":1.5,"t":"meta","patch":{}}',
    '{"n":"1","t":"meta","patch":{}}',
    '{"n":1,"t":5}',
    '{"n":1,"t":"meta"}',
    '{"n":1,"t":"meta","patch":[]}',
    '{"n":1,"t":"message","message":{"id":"m1","role":"robot","content":""}}',
    '{"n":1,"t":"message","message":null}',
    '{"n":1,"t":"turn_ended","stream_id":"a","how":"otherwise"}',
    '{"n":1,"t":"cut","after":"1"}',
    '{"n":9,"t":"show","after":1}',
    '{"n":9,"t":"show","after":1,"cuts":[[4]]}',
    '{"n":9,"t":"show","after":1,"cuts":[[10,2]]}',
    '{"n":1,"t":"asked","question":{"kind":"approval"}}',
    '{"n":1,"t":"constructor_"',
  ]) {
    assert.is(parseEntry(text), null, text)
  }
  assert.is(parseEntry('{"n":1,"t":"constructor"}'), 'unknown')
  assert.is(parseEntry('{"n":1,"t":"__proto__"}'), 'unknown')
})

test('a patch cannot change a prototype', () => {
  const lines = toLines([
    '{"n":1,"t":"session","at":1,"v":1,"id":"x","meta":{"__proto__":{"title":"evil"}}}',
    '{"n":2,"t":"meta","at":1,"patch":{"__proto__":{"pinned":true}}}',
  ])
  const { meta } = foldForward('x', lines).folded
  assert.is(meta.title, undefined)
  assert.is(({} as Record<string, unknown>).pinned, undefined)
})

test('uses only lines in our own format unparsed', () => {
  const plain = (text: string) => {
    const entry = parseEntry(text)
    if (!entry || entry === 'unknown' || entry.t !== 'message') return assert.unreachable()
    return isPlainMessage(Buffer.from(text), entry, text)
  }
  const message = '{"id":"m2","role":"user","content":"x"}'
  assert.is(plain(`{"n":2,"t":"message","at":1.5,"message":${message}}`), true)
  assert.is(plain(`{"n":2,"t":"message","at":1,"message":${message},"more":1}`), false)
  assert.is(plain(`{"t":"message","n":2,"at":1,"message":${message}}`), false)
  assert.is(plain(`{"n": 2,"t":"message","at":1,"message":${message}}`), false)
  assert.is(
    plain(`{"n":2,"t":"message","at":1,"message":{"id":"m2","role":"user","content":"\\u0073k-"}}`),
    false,
  )
  const line = formatEntry({
    n: 7,
    t: 'message',
    at: 12.345,
    message: { content: 'é', role: 'user', id: 'm7' },
  })
  const head = messageHead(Buffer.from(line))
  assert.is(head?.n, 7)
  assert.equal(JSON.parse(Buffer.from(line).subarray(head?.start, -1).toString()), {
    id: 'm7',
    role: 'user',
    content: 'é',
  })
})

test('null clears, the last value wins', () => {
  const { folded } = foldForward(
    'x',
    toLines([
      '{"n":1,"t":"session","at":1,"v":1,"id":"x","meta":{"title":"a","odd":{"deep":1},"composer_draft":{"text":"t","files":[]}}}',
      '{"n":2,"t":"meta","at":1,"patch":{"title":"b","project_id":"p"}}',
      '{"n":3,"t":"meta","at":1,"patch":{"project_id":null}}',
    ]),
  )
  assert.equal(folded.meta, {
    title: 'b',
    odd: { deep: 1 },
    composer_draft: { text: 't', files: [] },
  })
})

test.run()
