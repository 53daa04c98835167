/** POST /api/upload: streamed to the disk, named harmlessly, and nothing stays of what was refused or cut. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { uploadName } from '../../lib/workspaces/upload.ts'
import type { Answer } from '../_http.ts'
import { type Desk, namesIn, openDesk } from './_files.ts'
import { BOUNDARY, FORM_TYPE, form, type Part } from './_form.ts'

const LIMIT = 20 * 1024 * 1024

const test = suite<Desk & { before: string[] }>('upload')
test.before.each(async context => {
  Object.assign(context, await openDesk())
  context.before = namesIn(context.root)
})
test.after.each(({ app }) => app.close())

const send = (
  { app }: Desk,
  body: Buffer | string,
  type = FORM_TYPE['Content-Type'],
): Promise<Answer> =>
  app.request('POST', '/api/upload', { body, headers: { 'Content-Type': type } })

const upload = (desk: Desk, file: Omit<Part, 'name'>, more: readonly Part[] = []) =>
  send(desk, form({ name: 'session_id', data: desk.id }, ...more, { name: 'file', ...file }))

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

test('a pasted picture is kept with the chat, not in its workspace', async desk => {
  const { app, root, id, before } = desk
  const keep = [{ name: 'keep', data: 'chat' }]
  const { status, body } = await upload(desk, { filename: 'image.png', data: PNG }, keep)
  assert.is(status, 200, JSON.stringify(body))
  assert.is(body.filename, body.path)
  assert.match(body.path, new RegExp(`${id}/image-[0-9a-f]{32}\\.png$`))
  assert.equal(readFileSync(body.path), PNG)
  assert.equal(namesIn(root), before)
  const shown = await app.get(`/api/media?session_id=${id}&path=${encodeURIComponent(body.path)}`)
  assert.is(shown.status, 200)
  const refused = await upload(desk, { filename: 'image.png', data: 'no picture' }, keep)
  assert.is(refused.body.code, 'picture_not_kept')
  assert.equal(namesIn(root), before)
  assert.equal(incoming(desk), [])
})

const incoming = ({ app }: Desk): string[] => {
  const dir = join(app.state, 'incoming')
  return existsSync(dir) ? readdirSync(dir) : []
}

test('rejects requests without form, file, name or session, and truncated ones; stores nothing', async desk => {
  const { id, app, root } = desk
  const session = { name: 'session_id', data: id }
  const file = { name: 'file', filename: 'a.txt', data: 'x' }
  const cases: [
    what: string,
    body: Buffer | string,
    status: number,
    error: RegExp,
    type?: string,
  ][] = [
    ['json', '{"session_id":"x"}', 400, /^No boundary/, 'application/json'],
    ['no boundary', form(session, file), 400, /^No boundary/, 'multipart/form-data'],
    ['empty boundary', form(session), 400, /./, 'multipart/form-data; boundary='],
    ['empty', '', 400, /./],
    ['noise', 'x'.repeat(10_000), 400, /./],
    ['no file', form(session), 400, /^No file field in request$/],
    ['file as text', form(session, { name: 'file', data: 'x' }), 400, /^No file field/],
    ['another field', form(session, { ...file, name: 'other' }), 400, /^No file field/],
    ['no name', form(session, { ...file, filename: '' }), 400, /^No filename in upload$/],
    ['no session', form(file), 400, /session_id/],
    ['bad session', form({ ...session, data: '../x' }, file), 400, /session_id/],
    ['unknown', form({ ...session, data: 'gone00000000' }, file), 404, /^Session not found$/],
    ['cut form', form(session, file).subarray(0, -12), 400, /./],
    ['cut header', form(session, file).subarray(0, 60), 400, /./],
  ]
  for (const [what, body, status, error, type] of cases) {
    const answer = await send(desk, body, type)
    assert.is(answer.status, status, `${what}: ${answer.text}`)
    assert.match(answer.body.error, error, what)
  }
  assert.equal([namesIn(root), incoming(desk)], [desk.before, []])
  assert.is((await app.get('/health')).status, 200)
})

test('rejects names of dots only and names that lead outside of the workspace', async desk => {
  const names = [
    '.',
    '..',
    '....',
    '../up.txt',
    '../../etc/passwd',
    'a/../../b.txt',
    '/etc/passwd',
    '..\\\\up.txt',
    'C:\\\\Windows\\\\win.ini',
    'a/..',
    'a/',
  ]
  for (const filename of names) {
    const answer = await upload(desk, { filename, data: 'x' })
    assert.equal(
      [answer.status, answer.body],
      [400, { error: 'Invalid filename', code: 'invalid_file_name' }],
      filename,
    )
  }
  for (const path of ['..', '/etc', 'up', 'src/../..', 'away.txt', '\0', 'README.md']) {
    const answer = await upload(desk, { filename: 'a.txt', data: 'x' }, [
      { name: 'path', data: path },
    ])
    const isInside = path === 'README.md'
    assert.ok(isInside ? [400, 404].includes(answer.status) : answer.status === 400, path)
  }
  assert.equal([namesIn(desk.root), incoming(desk)], [desk.before, []])
  assert.not(existsSync(join(desk.app.userHome, 'up.txt')))
})

test('sanitizes names: keeps letters of any script, at most 200 characters', () => {
  const cases: [string, string][] = [
    ['plain-name_1.txt', 'plain-name_1.txt'],
    ['my file (1).txt', 'my_file__1_.txt'],
    ['ünïcödé 日本.txt', 'ünïcödé_日本.txt'],
    ['rtl\u202etxt.exe', 'rtl_txt.exe'],
    ['new\nline"quote\'.txt', 'new_line_quote_.txt'],
    ['-rf', '-rf'],
    ['.bashrc', '.bashrc'],
    ['dir/inner.txt', 'inner.txt'],
    ['$(touch pwned);`x`', '__touch_pwned___x_'],
    ['\ud800x', '_x'],
    ['e\u0301', '\u00e9'],
  ]
  for (const [given, expected] of cases) assert.is(uploadName(given), expected, given)
  assert.is(uploadName(`${'x'.repeat(300)}.txt`).length, 200)
  assert.match(uploadName(`${'x'.repeat(300)}.txt`), /x\.txt$/)
  assert.ok(Buffer.byteLength(uploadName(`${'日'.repeat(300)}.txt`)) <= 245)
  assert.is(uploadName('x'.repeat(300)).length, 200)
})

test('stores the complete file for any field order; returns name, absolute path and size', async desk => {
  const { id, root } = desk
  const data = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 256))
  const first = await upload(desk, { filename: 'data.bin', data })
  assert.equal(
    [first.status, first.body],
    [200, { filename: 'data.bin', path: join(root, 'data.bin'), size: 300_000 }],
  )
  assert.ok(readFileSync(join(root, 'data.bin')).equals(data))
  assert.is(statSync(join(root, 'data.bin')).mode & 0o777, 0o666 & ~process.umask())
  // The session may be named after the file, and a file may hold what looks like a boundary.
  const tricky = `--${BOUNDARY.slice(0, -1)}\r\n--\r\n\r\n`
  const reversed = form(
    { name: 'file', filename: 'b.txt', data: tricky },
    { name: 'session_id', data: id },
  )
  assert.is((await send(desk, reversed)).status, 200)
  assert.is(readFileSync(join(root, 'b.txt'), 'utf8'), tricky)
  const empty = await upload(desk, { filename: 'empty', data: '' })
  assert.equal([empty.status, empty.body.size], [200, 0])
  const encoded = await upload(desk, { header: "; filename*=UTF-8''%e2%82%ac.txt", data: '1' })
  assert.is(encoded.body.filename, '_.txt')
  assert.equal(incoming(desk), [])
})

test('an existing name gets (2), (3); replaces nothing, follows no link', async desk => {
  const { app, root } = desk
  const put = async (filename: string, data: string) =>
    (await upload(desk, { filename, data })).body.filename
  assert.is(await put('README.md', 'mine'), 'README (2).md')
  assert.is(await put('README.md', 'mine too'), 'README (3).md')
  assert.is(readFileSync(join(root, 'README.md'), 'utf8'), 'hello\nworld\n')
  assert.is(await put('away.txt', 'x'), 'away (2).txt')
  assert.is(await put('src', 'x'), 'src (2)')
  assert.is(await put('a.tar.gz', '1'), 'a.tar.gz')
  assert.is(await put('a.tar.gz', '2'), 'a (2).tar.gz')
  symlinkSync(join(app.userHome, 'made.txt'), join(root, 'dangling'))
  assert.is(await put('dangling', 'x'), 'dangling (2)')
  assert.not(existsSync(join(app.userHome, 'made.txt')))
  assert.is(readFileSync(join(app.userHome, 'secret.txt'), 'utf8'), 'OUTSIDE')
  // At the same time: each gets a name of its own.
  const many = await Promise.all(Array.from({ length: 8 }, (_, n) => put('same.txt', `${n}`)))
  assert.is(new Set(many).size, 8)
  const contents = many.map(name => readFileSync(join(root, name), 'utf8'))
  assert.equal(contents.sort(), ['0', '1', '2', '3', '4', '5', '6', '7'])
})

test('uploads into a workspace folder and creates it when missing', async desk => {
  const { root } = desk
  const into = (path: string) =>
    upload(desk, { filename: 'a.txt', data: 'x' }, [{ name: 'path', data: path }])
  assert.is((await into('src')).body.path, join(root, 'src', 'a.txt'))
  assert.is((await into('new/deeper')).body.path, join(root, 'new', 'deeper', 'a.txt'))
  assert.is((await into('')).body.path, join(root, 'a.txt'))
  assert.is((await into('.')).body.filename, 'a (2).txt')
})

const announced = ({ app, id }: Desk, length: number) =>
  `POST /api/upload HTTP/1.1\r\nHost: ${new URL(app.url).host}\r\nContent-Type: ${FORM_TYPE['Content-Type']}\r\n` +
  `Content-Length: ${length}\r\n\r\n` +
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="session_id"\r\n\r\n${id}\r\n` +
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="cut.bin"\r\n\r\n`

/** Polls until the condition holds; each poll is a round trip, so no sleep is needed. */
const until = async ({ app }: Desk, isSo: () => boolean): Promise<void> => {
  for (let n = 0; n < 2_000 && !isSo(); n++) await app.get('/health')
  assert.ok(isSo())
}

test('an interrupted upload leaves nothing', async desk => {
  const { app, root } = desk
  const { port } = new URL(app.url)
  for (const end of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => 'expected: cut')
    socket.write(announced(desk, 5_000_000))
    socket.write(Buffer.alloc(1_000_000))
    await until(desk, () => incoming(desk).length === 1)
    socket[end]()
    await until(desk, () => incoming(desk).length === 0)
    socket.destroy()
  }
  assert.equal(namesIn(root), desk.before)
  assert.is((await upload(desk, { filename: 'after.txt', data: 'x' })).status, 200)
})

test('removes partial uploads of a killed process at the next start', async desk => {
  const dir = join(desk.app.state, 'incoming')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'x.part'), 'half')
  await desk.app.restart()
  assert.equal(incoming(desk), [])
})

test('rejects more than 20 MiB, declared or not, and stores nothing (400)', async desk => {
  const { app, root } = desk
  const declared = await app.request('POST', '/api/upload', {
    headers: { ...FORM_TYPE, 'Content-Length': String(LIMIT + 1), Connection: 'close' },
    body: '{}',
  })
  assert.is(declared.status, 400)
  const { port } = new URL(app.url)
  const socket = connect(Number(port), '127.0.0.1')
  const answer = new Promise<string>(resolve => {
    let text = ''
    socket.on('data', data => {
      text += data
    })
    socket.on('error', () => resolve(text))
    socket.on('close', () => resolve(text))
  })
  socket.write(
    `${
      announced(desk, 0)
        .replace('Content-Length: 0', 'Transfer-Encoding: chunked')
        .split('\r\n\r\n')[0]
    }\r\n\r\n`,
  )
  const chunk = (data: Buffer) => {
    socket.write(`${data.length.toString(16)}\r\n`)
    socket.write(data)
    return socket.write('\r\n')
  }
  chunk(Buffer.from(announced(desk, 0).split('\r\n\r\n').slice(1).join('\r\n\r\n')))
  const block = Buffer.alloc(1024 * 1024)
  for (let n = 0; n < 21; n++) chunk(block)
  const text = await answer
  assert.match(text, /^HTTP\/1\.1 400 /)
  assert.match(text, /larger than 20 MB/)
  assert.match(text, /connection: close/i)
  await until(desk, () => incoming(desk).length === 0)
  assert.equal(namesIn(root), desk.before)
  // Just below the limit it arrives.
  const most = Buffer.alloc(LIMIT - 1_000)
  assert.is((await upload(desk, { filename: 'most.bin', data: most })).body.size, most.length)
})

test('bounds parts, fields and headers of a form', async desk => {
  const fields = Array.from({ length: 5_000 }, (_, n) => ({ name: `f${n}`, data: 'x' }))
  const many = await upload(desk, { filename: 'a.txt', data: 'x' }, fields)
  assert.ok(many.status < 500)
  const long = await send(
    desk,
    form(
      { name: 'session_id', data: 'x'.repeat(1_000_000) },
      { name: 'file', filename: 'a', data: '' },
    ),
  )
  assert.is(long.status, 400)
  const header = await upload(desk, { filename: 'x'.repeat(100_000), data: 'x' })
  assert.ok(header.status === 400 || header.body.filename.length <= 200)
  const proto = await upload(desk, { filename: 'ok.txt', data: 'x' }, [
    { name: '__proto__', data: 'x' },
  ])
  assert.is(proto.status, 200)
  assert.is(Reflect.get({}, 'x'), undefined)
  assert.equal(incoming(desk), [])
})

test('works when the workspace is on another disk than the state directory', async () => {
  let state = ''
  try {
    if (statSync('/dev/shm').dev === statSync('/tmp').dev) return
    state = join('/dev/shm', `agent-webui-${process.pid}`)
    mkdirSync(state)
  } catch {
    // No such disk on this machine.
    return
  }
  const desk = await openDesk({ env: { AGENT_WEBUI_STATE_DIR: state } })
  try {
    const names = ['a.txt', 'a (2).txt']
    for (const expected of names) {
      const { body } = await upload(desk, { filename: 'a.txt', data: 'across' })
      assert.is(body.filename, expected)
      assert.is(readFileSync(body.path, 'utf8'), 'across')
      assert.is(basename(body.path), expected)
    }
    assert.equal(readdirSync(join(state, 'incoming')), [])
    const left = namesIn(desk.root).filter(name => name.startsWith('.agent-webui'))
    assert.equal(left, [])
  } finally {
    await desk.app.close()
    rmSync(state, { recursive: true, force: true })
  }
})

test.run()
