/** Long results: cut for the model, whole in a file of the session, readable by it alone, and gone with it. */
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { truncateMiddle, truncateResult, toReadableLines } from '../../lib/agent/long-result.ts'
import { ToolOutput } from '../../lib/sessions/tool-output.ts'
import { startChat } from './_chat.ts'
import { tempDir } from '../_temp-dir.ts'

const test = suite('tool output')

const pathIn = (text: unknown): string => /(\/\S+\.txt)/.exec(String(text))?.[1] ?? ''
const LOUD = 'echo first; seq 1 60000; echo "API_KEY=abcdefghijklmnopqrstuvwxyz"; echo last'

test('long output is cut for the model and stored in a file only its session can read', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  const id = await chat.newSession()
  provider.push(
    { toolCalls: [{ id: 'call_loud', name: 'terminal', arguments: { command: LOUD } }] },
    { text: 'done' },
  )
  await chat.turn(id, 'be loud')
  const result = (await chat.messages(id)).find(({ role }) => role === 'tool')
  const { output } = JSON.parse(String(result?.content))
  assert.ok(output.length < 50_300, `${output.length}`)
  const path = pathIn(output)
  assert.is(path, join(app.state, 'tool-output', id, 'call_loud.txt'))
  const whole = readFileSync(path, 'utf8')
  assert.match(whole, /^first\n1\n[\s\S]*\n30000\n[\s\S]*\nlast\n$/)
  assert.not.match(whole, 'klmnopqrst')
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.is(statSync(join(path, '..')).mode & 0o777, 0o700)

  // Its own session can read more of it; other sessions are rejected, and no session can write it.
  const read = { name: 'read_file', arguments: { path, offset: 30_000, limit: 2 } }
  const write = { name: 'write_file', arguments: { path, content: 'x' } }
  const cat = { name: 'terminal', arguments: { command: `tail -1 ${path}` } }
  const toolsOf = async (session: string) => {
    provider.push({ toolCalls: [read, write, cat] }, { text: 'ok' })
    await chat.turn(session, 'read it')
    return (await chat.messages(session))
      .filter(({ role }) => role === 'tool')
      .slice(-3)
      .map(({ content }) => String(content))
  }
  const own = await toolsOf(id)
  assert.match(own[0] ?? '', /29999/)
  assert.match(own[1] ?? '', 'denied')
  assert.match(own[2] ?? '', 'last')
  const other = await toolsOf(await chat.newSession())
  for (const said of other) assert.match(said, 'denied')

  const media = (session: string) =>
    app.get(`/api/media?path=${encodeURIComponent(path)}&session_id=${session}`)
  assert.is((await media(id)).status, 200)
  const stranger = await chat.newSession()
  assert.is((await media(stranger)).status, 403)

  await app.post('/api/session/delete', { session_id: id })
  assert.ok(existsSync(path), 'kept while the session can be restored')
  await app.post('/api/session/restore', { session_id: id })
  await app.post('/api/session/clear', { session_id: id })
  assert.ok(existsSync(path))
  await app.post('/api/session/purge', { session_id: id })
  assert.not(existsSync(path), 'purged with the messages that named it')
  await chat.close()
})

test('permanently deleted with its session', async () => {
  const chat = await startChat()
  const id = await chat.newSession()
  const call = { name: 'terminal', arguments: { command: 'seq 1 60000' } }
  chat.provider.push({ toolCalls: [call] }, { text: 'done' })
  await chat.turn(id, 'be loud')
  const dir = join(chat.app.state, 'tool-output', id)
  assert.is(readdirSync(dir).length, 1)
  await chat.app.post('/api/session/delete', { session_id: id, permanent: true })
  assert.not(existsSync(dir))
  await chat.close()
})

test('bounded: deletes the oldest; ids are no paths; overwrites nothing', () => {
  const dir = tempDir('tool-output')
  const said: string[] = []
  const kept = new ToolOutput(dir, line => said.push(line), { maxTotalBytes: 2_500, maxFiles: 10 })
  const paths = ['a', 'a', '../../b', 'c'].map((id, n) => {
    const path = kept.save('0123456789ab', id, 'x'.repeat(1_000)) ?? ''
    if (existsSync(path)) utimesSync(path, n, n)
    return path
  })
  assert.is(new Set(paths).size, 4)
  for (const path of paths) assert.is(join(path, '..'), join(dir, '0123456789ab'))
  assert.equal(paths.map(existsSync), [false, false, true, true])
  assert.is(kept.save('../x', 'a', 'x'), null)
  assert.is(said.length, 1)
  kept.save('aaaaaaaaaaaa', 'a', 'x')
  kept.sweep(id => id === 'aaaaaaaaaaaa')
  assert.equal(readdirSync(dir), ['aaaaaaaaaaaa'])
})

test('images are stored once under a name of their content; no other name is read', () => {
  const dir = tempDir('tool-output')
  const [id, copy] = ['0123456789ab', 'aaaaaaaaaaaa']
  const kept = new ToolOutput(dir, () => undefined)
  const name = kept.saveImage(id, Buffer.from('one'), 'png') ?? ''
  assert.match(name, /^image-[0-9a-f]{32}\.png$/)
  assert.is(kept.saveImage(id, Buffer.from('one'), 'png'), name)
  assert.is(readdirSync(join(dir, id)).length, 1)
  assert.equal(kept.loadImage(id, name), Buffer.from('one'))
  // A full disk or a kill left a part of it.
  writeFileSync(join(dir, id, name), 'o')
  assert.is(kept.saveImage(id, Buffer.from('one'), 'png'), name)
  assert.equal(kept.loadImage(id, name), Buffer.from('one'))
  // Names come from transcripts, which may be imported.
  writeFileSync(join(dir, id, 'secret.png'), 'x')
  for (const other of ['secret.png', `../${id}/${name}`, join(dir, id, name), `${name}\0`])
    assert.is(kept.loadImage(id, other), null, other)
  assert.is(kept.loadImage(copy, name), null)
  kept.copyImages(id, copy)
  kept.remove(id)
  assert.equal(kept.loadImage(copy, name), Buffer.from('one'))
  kept.retain(copy, `[{"file":"${name}"}]`)
  assert.ok(kept.loadImage(copy, name))
  kept.retain(copy, '[]')
  assert.is(kept.loadImage(copy, name), null)
})

test('copies of a session share its images, which count once', () => {
  const dir = tempDir('tool-output')
  const kept = new ToolOutput(dir, () => undefined, { maxTotalBytes: 2_500 })
  const old = kept.save('0123456789ab', 'a', 'x'.repeat(1_000)) ?? ''
  utimesSync(old, 1, 1)
  const name = kept.saveImage('aaaaaaaaaaaa', Buffer.alloc(1_000), 'png') ?? ''
  for (const copy of ['bbbbbbbbbbbb', 'cccccccccccc']) kept.copyImages('aaaaaaaaaaaa', copy)
  kept.save('0123456789ab', 'b', 'x')
  assert.ok(existsSync(old))
  assert.ok(kept.loadImage('cccccccccccc', name))
})

test('output that cannot be stored is cut as before; JSON is stored as lines', () => {
  const result = { content: 'x'.repeat(3_000) }
  assert.is(truncateResult(result, 2_000, () => null).content.length, 2_000)
  assert.is(
    truncateResult(result, 5_000, () => null),
    result,
  )
  const text = `a${'b'.repeat(200_000)}c`
  const cut = truncateResult({ content: text }, 100_000, () => '/p/x.txt').content
  assert.ok(cut.length < 2_000 && cut.includes('/p/x.txt') && cut.endsWith('c'))
  assert.is(truncateMiddle('short', 100), 'short')
  assert.is(toReadableLines('{"a":"1\\n2 \\"q\\" \\\\n"}'), '{\n  "a": "1\n2 "q" \\n"\n}')
  assert.is(toReadableLines('plain'), 'plain')
})

test.run()
