/**
 * Proof: the executable, and the file that npm installs, replace themselves by a release of a local server, keep the chats of
 * every format, and go back when a release does not start. Built only at full size.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort, startProgram } from '../../../build/start-program.ts'
import { signalProcess } from '../../../lib/base/process.ts'
import { thisTarget } from '../../../lib/store/sqlite-addon.ts'
import { createClient } from '../../_http.ts'

const FORMER = join(import.meta.dirname, '../../fixtures/hermes-webui')
const test = suite('update in place')

/** The built version is in the text of both kinds; one of the same length takes its place, so that one build is enough. */
const withVersion = (file: Buffer, version: string): { bytes: Buffer; version: string } => {
  const bytes = Buffer.from(file)
  const built = /\{"version":"([^"]+)","payload/.exec(bytes.toString('latin1'))?.[1] ?? ''
  const padded = `${version}+`.padEnd(built.length, '0')
  assert.is(padded.length, built.length, built)
  const text = `{"version":"${built}","payload`
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1))
    bytes.write(padded, at + '{"version":"'.length)
  return { bytes, version: padded }
}

/** Answers what is asked of it before it takes the place of the old one, and does not start. */
const BROKEN: Readonly<Record<string, (version: string) => string>> = {
  node: version =>
    `const [, , verb] = process.argv\nif (verb === '--version') console.log('agent-webui ${version}')\nelse if (verb === 'doctor') console.log('{}')\nelse process.exit(1)\n`,
  [thisTarget()]: version =>
    `#!/bin/sh\ncase $1 in --version) echo "agent-webui ${version}";; doctor) echo '{}';; *) exit 1;; esac\n`,
}

const openReleases = async (kind: string) => {
  const state = { version: '', bytes: Buffer.alloc(0) }
  const server = createServer((req, res) => {
    const { version, bytes } = state
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const files = { [kind]: { url: 'file', sha256, size: bytes.length } }
    res.end(req.url === '/file' ? bytes : JSON.stringify({ version, files }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/releases.json`,
    offer: (version: string, bytes: Buffer) => Object.assign(state, { version, bytes }),
    close: () => server.close(),
  }
}

/** `file` is what is replaced, `command` starts it. */
const checkUpdate = async (
  root: string,
  kind: string,
  { file, command }: { file: string; command: string },
) => {
  const original = readFileSync(file)
  const [old, next] = ['1.0.0', '1.1.0'].map(version => withVersion(original, version))
  writeFileSync(file, old!.bytes)
  const home = join(root, `home-${kind}`)
  const stateDir = join(home, '.agent/webui')
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  cpSync(FORMER, stateDir, { recursive: true })
  const releases = await openReleases(kind)
  const program = await startProgram(command, ['--no-browser'], {
    home,
    port: await freePort(),
    startTimeoutMs: 120_000,
    env: {
      AGENT_WEBUI_RELEASES: releases.url,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    },
  })
  const { get, post, closeClient } = createClient(() => program.url)
  const running = async () => (await get('/api/settings').catch(() => null))?.body.webui_version
  const chats = async () => {
    const { sessions } = (await get('/api/sessions')).body
    const texts = []
    for (const { session_id } of sessions)
      texts.push((await get(`/api/session?session_id=${session_id}`)).body.session.messages)
    return texts
  }
  /** Applies the release on offer and resolves when the watching process has decided. */
  const update = async () => {
    const outcome = join(stateDir, 'updates/last.json')
    rmSync(outcome, { force: true })
    const { body } = await post('/api/updates/apply', { target: 'webui' }, { timeoutMs: 120_000 })
    assert.equal([body.ok, body.restart_scheduled], [true, true], body.message)
    while (!existsSync(outcome) || existsSync(join(stateDir, 'updates/switch.json')))
      await sleep(50)
    while ((await running()) === undefined) await sleep(50)
    return JSON.parse(readFileSync(outcome, 'utf8'))
  }
  try {
    assert.is(await running(), old!.version)
    const { session_id } = (await post('/api/session/new')).body.session
    assert.is((await post('/api/chat', { session_id, message: 'hello' })).status, 200)
    // One of the former format is converted; the others stay as they are.
    await post('/api/session/rename', { session_id: '5a5b5c5d5e5f', title: 'Renamed' })
    const before = await chats()
    assert.is(before.length, 4)

    releases.offer(next!.version, next!.bytes)
    assert.is((await update()).ok, true)
    assert.equal([await running(), await chats()], [next!.version, before])
    assert.ok(readFileSync(file).equals(next!.bytes))

    releases.offer('1.2.0', Buffer.from(BROKEN[kind]!('1.2.0')))
    const { ok, message } = await update()
    assert.is(ok, false)
    assert.match(message, 'ended right after its start')
    assert.equal([await running(), await chats()], [next!.version, before])
    assert.ok(readFileSync(file).equals(next!.bytes))
    assert.ok(existsSync(`${file}.failed`))
  } finally {
    closeClient()
    releases.close()
    const { pid } = JSON.parse(readFileSync(join(stateDir, 'instance.json'), 'utf8'))
    signalProcess(pid, 'SIGKILL')
    program.child.kill('SIGKILL')
  }
}

test('the executable and the npm package update themselves, and go back', async () => {
  if (process.env.PROOF !== 'full') {
    console.log('  update: skipped, building takes too long; npm run proof -- proofs/update')
    return
  }
  const root = mkdtempSync(join(tmpdir(), 'update-'))
  const build = (kind: string) =>
    execFileSync(process.execPath, ['build.mjs', kind, '--fast', '--quiet'], { stdio: 'inherit' })
  try {
    build('--exe')
    const executable = join(root, 'agent-webui')
    cpSync('dist/agent-webui', executable)
    await checkUpdate(root, thisTarget(), { file: executable, command: executable })

    build('--package')
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const packed = join(root, basename(`agent-webui-${version}.tgz`))
    cpSync(`dist/agent-webui-${version}.tgz`, packed)
    const prefix = join(root, 'prefix')
    const npm = ['install', '--global', '--offline', '--prefix', prefix, packed]
    execFileSync('npm', npm, { cwd: root, stdio: 'ignore' })
    await checkUpdate(root, 'node', {
      file: join(prefix, 'lib/node_modules/agent-webui/agent-webui.mjs'),
      command: join(prefix, 'bin/agent-webui'),
    })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

test.run()
