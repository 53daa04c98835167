/** Versions of messages: random sequences of edits against a tree, and what purge, copies and exports make of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { Edits } from '../../../lib/sessions/edits.ts'
import type { NewEntry } from '../../../lib/sessions/entries.ts'
import { fromExport, toJson } from '../../../lib/sessions/transfer.ts'
import type { Sessions } from '../../../lib/sessions/sessions.ts'
import { createRandom, type Random } from '../../_random.ts'
import { type Bench, benchSuite, NEW, say, texts, withBench } from './_sessions.ts'

const test = benchSuite('sessions/versions')

const idsOf = (sessions: Sessions, id: string): string[] =>
  sessions.load(id).messages.map(message => message.id)

/** Replaces as `recordTurnStart` does. */
const replace = (sessions: Sessions, id: string, of: string, content: string): string => {
  const { messages, numbers } = sessions.load(id)
  const at = messages.findIndex(message => message.id === of)
  const message_id = sessions.nextMessageId(id)
  const started = { stream_id: 's', model: 'm', provider: 'p', message_id }
  sessions.append(id, [
    { t: 'cut', after: numbers[at - 1] ?? 0 },
    { t: 'message', message: { id: message_id, role: 'user', content } },
    { t: 'turn_started', ...started, replaces: of },
  ])
  return message_id
}

const editsOf = (sessions: Sessions) =>
  new Edits(
    sessions,
    () => undefined,
    () => undefined,
  )

const show = (sessions: Sessions, id: string, message: string): void =>
  void editsOf(sessions).showVersion(id, message)

/** What a person did, as a tree: a version and what it showed when it was left. */
type Model = { shown: string[]; versions: string[][]; left: Map<string, string[]> }

const groupOf = (model: Model, id: string): string[] =>
  model.versions.find(group => group.includes(id)) ?? [id]

/** Whatever becomes hidden is remembered with what was shown until then. */
const go = (model: Model, next: string[]): void => {
  for (const id of model.shown) if (!next.includes(id)) model.left.set(id, model.shown)
  model.shown = next
}

const step = (sessions: Sessions, id: string, model: Model, random: Random): void => {
  const edits = editsOf(sessions)
  const { messages } = sessions.load(id)
  const users = messages.filter(({ role }) => role === 'user').map(message => message.id)
  const kind = random.below(14)
  const append = (entries: NewEntry[]): void => {
    const added = sessions.append(id, entries)
    const ids = added.flatMap(entry => (entry.t === 'message' ? [entry.message.id] : []))
    go(model, [...model.shown, ...ids])
  }
  if (kind < 4 || users.length === 0) {
    // Long, so that pages are found by the marks of the catalog.
    append([say(`question ${random.below(1e6)}`), say('x'.repeat(20_000), 'assistant')])
  } else if (kind < 7) {
    const of = random.pick(users)
    const written = replace(sessions, id, of, `version ${random.below(1e6)}`)
    const group = groupOf(model, of)
    model.versions = [...model.versions.filter(each => each !== group), [...group, written]]
    go(model, [...model.shown.slice(0, model.shown.indexOf(of)), written])
    if (random.below(2)) append([say('answer', 'assistant')])
  } else if (kind < 11) {
    const version = random.pick(random.pick(model.versions.length > 0 ? model.versions : [users]))
    const isKnown = model.versions.some(
      group => group.includes(version) && group.some(each => model.shown.includes(each)),
    )
    if (!isKnown) assert.throws(() => show(sessions, id, version), isMissing)
    else {
      show(sessions, id, version)
      if (!model.shown.includes(version)) go(model, model.left.get(version) ?? [])
    }
  } else if (kind === 11) {
    const count = random.below(model.shown.length + 1)
    edits.truncate(id, count)
    go(model, model.shown.slice(0, count))
  } else if (kind === 12) {
    edits.undoLast(id)
    go(model, model.shown.slice(0, model.shown.lastIndexOf(users.at(-1)!)))
  } else if (random.below(4) === 0) {
    edits.clear(id)
    go(model, [])
  } else {
    const { numbers } = sessions.load(id)
    sessions.append(id, [{ t: 'summary', from: numbers[0]!, to: random.pick(numbers), text: 's' }])
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof UserError && error.kind === 'missing'

/** Every way to read the session gives what the model says. */
const check = async ({ sessions }: Bench, id: string, model: Model, seed: string) => {
  assert.equal(idsOf(sessions, id), model.shown, seed)
  const folded = sessions.load(id)
  const { count, spans } = sessions.head(id)
  assert.is(count, model.shown.length, seed)
  assert.equal(
    spans.map(({ n }) => n),
    folded.summaries.map(({ n }) => n),
    seed,
  )
  const whole = JSON.parse((await sessions.wholeJson(id)).toString()) as Message[]
  const tail = sessions.tail(id, { limit: 500 }).messages
  assert.equal(whole, tail, seed)
  assert.equal(
    whole.map(message => message.id),
    model.shown,
    seed,
  )
  for (const message of whole) {
    const group = groupOf(model, message.id)
    assert.equal(message._versions, group.length > 1 ? group : undefined, seed)
  }
  const middle = model.shown[model.shown.length >> 1]
  if (middle === undefined) return
  const page = sessions.tail(id, { limit: 3, before: middle })
  const at = model.shown.indexOf(middle)
  assert.equal(page.messages, whole.slice(Math.max(0, at - 3), at), seed)
  assert.is(page.offset, Math.max(0, at - 3), seed)
}

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
  test(
    `random edits, the file only grows, seed ${seed}`,
    withBench(async bench => {
      const random = createRandom(seed)
      const { session_id: id } = bench.sessions.create(NEW)
      const model: Model = { shown: [], versions: [], left: new Map() }
      let file = ''
      for (let turn = 0; turn < 60; turn += 1) {
        step(bench.sessions, id, model, random)
        const now = readFileSync(bench.path(id), 'utf8')
        assert.ok(now.startsWith(file))
        file = now
        await check(bench, id, model, `seed ${seed}, step ${turn}`)
        if (turn % 15 !== 14) continue
        // Without the number of the row's last change, which begins anew with the catalog.
        const rowNow = () => ({ ...bench.sessions.row(id), seq: 0 })
        const row = rowNow()
        // Without the catalog, which is made again from the file.
        await bench.restart({ cacheDir: join(bench.root, `cache-${turn}`) })
        assert.equal(rowNow(), row)
        await check(bench, id, model, `seed ${seed}, step ${turn}, opened again`)
      }
    }),
  )

test('going back and forth adds no more to a line than the places where messages are hidden', ({
  bench: { sessions, path },
}) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.append(id, [say('one'), say('answer', 'assistant')])
  const [first = ''] = idsOf(sessions, id)
  const second = replace(sessions, id, first, 'two')
  for (let turn = 0; turn < 40; turn += 1) show(sessions, id, turn % 2 ? second : first)
  const lines = readFileSync(path(id), 'utf8').trimEnd().split('\n')
  const shows = lines.map(line => JSON.parse(line)).filter(({ t }) => t === 'show')
  assert.is(shows.length, 40)
  assert.ok(shows.every(({ cuts }) => cuts.length <= 1))
  // One that is shown already writes nothing.
  show(sessions, id, second)
  assert.is(readFileSync(path(id), 'utf8').trimEnd().split('\n').length, lines.length)
})

test('a search finds only what is shown', async ({ bench }) => {
  const { session_id: id } = bench.sessions.create(NEW)
  bench.sessions.append(id, [say('apple'), say('banana', 'assistant')])
  const [first = ''] = idsOf(bench.sessions, id)
  const found = async (q: string) =>
    (await bench.sessions.search({ q, content: true, limit: 5 })).length
  assert.is(await found('banana'), 1)
  const second = replace(bench.sessions, id, first, 'cherry')
  assert.equal([await found('banana'), await found('cherry')], [0, 1])
  show(bench.sessions, id, first)
  assert.equal([await found('banana'), await found('cherry')], [1, 0])
  show(bench.sessions, id, second)
  assert.equal([await found('banana'), await found('cherry')], [0, 1])
})

test('a purge removes other versions, a copy and an import have none', async ({
  bench: { sessions, path },
}) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.append(id, [say('one'), say('first answer', 'assistant')])
  const [first = ''] = idsOf(sessions, id)
  const second = replace(sessions, id, first, 'two')
  const whole = async (of: string) => (await sessions.wholeJson(of)).toString()
  assert.match(await whole(id), `"_versions":["${first}","${second}"]`)
  const copy = sessions.duplicate(id).session_id
  const part = sessions.branch(id, { keep_count: 1 }).session_id
  for (const each of [copy, part]) {
    assert.equal(texts(sessions, each), ['two'])
    assert.not.match(await whole(each), '_versions')
  }
  assert.not.match(toJson(sessions.load(id)), '_versions')
  const imported = fromExport({ messages: JSON.parse(await whole(id)) })
  assert.not.match(JSON.stringify(imported), '_versions')
  await sessions.purge(id)
  assert.not.match(readFileSync(path(id), 'utf8'), /first answer|replaces/)
  assert.not.match(await whole(id), '_versions')
  assert.throws(() => show(sessions, id, first), isMissing)
  assert.throws(() => show(sessions, id, second), isMissing)
})

test.run()
