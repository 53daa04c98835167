/** A large export: one conversation in memory at a time, and a killed import leaves whole sessions and is completed by repeating it. */
import { createWriteStream, mkdirSync, readdirSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { foldFile, idOfName, SessionFiles } from '../../../lib/sessions/files.ts'
import { createDesk } from '../../lib/cli/_run.ts'
import { openImports } from '../../lib/sessions/imports/_bench.ts'

const test = suite('large imports')

const CHATS = 320
const MESSAGES = 50
/** Of each message: a chat has about 1 MB. */
const WORDS = 'All work and no play. '.repeat(1_000)

const conversation = (n: number): string =>
  JSON.stringify({
    uuid: `chat-${n}`,
    name: `Chat ${n}`,
    created_at: '2025-01-01T00:00:00Z',
    updated_at: '2025-01-02T00:00:00Z',
    chat_messages: Array.from({ length: MESSAGES }, (_, at) => ({
      uuid: `m-${n}-${at}`,
      sender: at % 2 === 0 ? 'human' : 'assistant',
      text: `${n} ${at} ${WORDS}`,
    })),
  })

const writeExport = async (path: string, chats: number): Promise<number> => {
  const out = createWriteStream(path)
  let size = 0
  for (let n = 0; n < chats; n++) {
    const part = `${n === 0 ? '[' : ','}${conversation(n)}`
    size += part.length
    if (!out.write(part)) await once(out, 'drain')
  }
  out.end(']')
  await finished(out)
  return size
}

test('of 300 MB, no more than a conversation and a piece of the file are kept', async () => {
  const bench = openImports()
  try {
    const path = join(bench.root, 'large.json')
    const size = await writeExport(path, CHATS)
    assert.ok(size > 300e6, String(size))
    let most = 0
    const report = await bench.import(path, {
      isDryRun: true,
      onKept(bytes) {
        most = Math.max(most, bytes)
      },
    })
    assert.is(report.counts.new, CHATS)
    assert.is(report.problem_count, 0)
    assert.ok(most <= conversation(0).length + 1_000, `${most} bytes were kept`)
  } finally {
    bench.close()
  }
})

test('a killed import leaves whole sessions, and the next one adds the rest', async () => {
  const desk = createDesk()
  try {
    const path = join(desk.root, 'export.json')
    await writeExport(path, 60)
    const files = new SessionFiles(join(desk.home, 'webui', 'sessions'))
    mkdirSync(files.dir, { recursive: true, mode: 0o700 })
    const ids = () =>
      readdirSync(files.dir).flatMap(name =>
        name.endsWith('.jsonl') ? (idOfName(name) ?? []) : [],
      )
    const check = () => {
      for (const id of ids()) {
        const read = foldFile({ id, path: files.jsonl(id), format: 'jsonl' })
        assert.equal([read?.summary.bad, read?.folded.messages.length], [0, MESSAGES], id)
      }
    }
    for (const wanted of [1, 3]) {
      const running = desk.start(['import', path])
      let isOver = false
      void running.ended.then(() => {
        isOver = true
      })
      while (!isOver && ids().length < wanted) await nextIteration()
      running.child.kill('SIGKILL')
      await running.ended
      check()
    }
    const before = ids().length
    assert.ok(before >= 3 && before < 60, `${before} chats`)
    const { code, out } = await desk.start(['import', path, '--json']).ended
    assert.is(code, 0)
    assert.equal(JSON.parse(out).counts, {
      new: 60 - before,
      updated: 0,
      unchanged: before,
      kept: 0,
    })
    check()
    assert.is(ids().length, 60)
    const again = await desk.start(['import', path, '--json', '--dry-run']).ended
    assert.is(JSON.parse(again.out).counts.unchanged, 60)
  } finally {
    desk.close()
  }
})

test.run()
