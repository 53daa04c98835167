/** `agent-webui doctor`, `--help` and `--version`: finds problems, shows no secrets, changes nothing. */
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { commandOf, serverArguments, unknownCommand } from '../../../lib/cli/cli.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../../_program.ts'
import type { Check } from '../../../lib/operations/checks/check.ts'
import { openSigningKey, signing } from '../../../lib/people/signing-key.ts'
import { AcceptedSettings } from '../../../lib/commands/guards/accepted-settings.ts'
import { startApp } from '../../_app.ts'
import { addConversation, createStateDb } from '../../_state-db.ts'
import { createFakeDocker } from '../boundary/_place.ts'
import { jwt } from '../../lib/models/sign-in/_issuer.ts'
import { createDesk, type Desk } from '../../lib/cli/_run.ts'

const test = suite<{ desk: Desk }>('agent-webui doctor')
test.before.each(state => {
  state.desk = createDesk()
})
test.after.each(({ desk }) => desk.close())

type Report = { ok: boolean; version: string; checks: Check[] }

const report = async (desk: Desk, env: Record<string, string> = {}, args: string[] = []) => {
  const { code, out, err } = await desk.talk(['doctor', '--json', ...args], { env })
  assert.is(err, '')
  const { ok, checks } = JSON.parse(out) as Report
  assert.is(code, ok ? 0 : 1)
  const about = (name: string) => checks.filter(each => each.about === name)
  return { ok, out, checks, about, level: (name: string) => about(name)[0]?.level }
}

test('checks the container that commands run in: program, service, image, settings', async ({
  desk,
}) => {
  const docker = createFakeDocker()
  const model = 'model:\n  provider: demo\n'
  const container = 'terminal:\n  backend: docker\n  docker_image: test/image\n'
  const check = async (more = '', env: Record<string, string> = docker.env) => {
    desk.config(`${model}${container}${more}`)
    const [found] = (await report(desk, env)).about('container')
    return [found?.level, found?.said]
  }
  try {
    desk.config(model)
    assert.equal((await report(desk, docker.env)).about('container'), [])
    const [level, said] = await check()
    assert.is(level, 'ok')
    assert.match(said ?? '', 'test/image')
    assert.is((await check('', { PATH: desk.workspace }))[0], 'fail')
    assert.match((await check('  docker_network: maybe\n'))[1] ?? '', 'terminal.docker_network')
    docker.state({ images: [] })
    assert.equal(await check(), ['warn', 'the image test/image is not here'])
    docker.state({ down: 'Cannot connect to the Docker daemon. Is the docker daemon running?' })
    assert.match((await check())[1] ?? '', "can't be reached")
  } finally {
    docker.close()
  }
})

test('reports an expired sign-in', async ({ desk }) => {
  desk.config('model:\n  provider: openai-codex\n  default: gpt-5.3-codex\n')
  const tokens = { access_token: jwt({ exp: 1 }) }
  writeFileSync(
    join(desk.home, 'auth.json'),
    JSON.stringify({ providers: { 'openai-codex': { tokens } } }),
  )
  const { about, level, out } = await report(desk)
  assert.is(level('sign-in'), 'warn')
  assert.match(about('sign-in')[0]?.advice ?? '', 'Sign in again')
  assert.is(level('model'), 'fail')
  assert.not.match(out, tokens.access_token)
})

test('reports an MCP server with a sign-in that is missing; sends it nothing', async ({ desk }) => {
  const received: string[] = []
  const server = createServer(socket => socket.on('data', data => received.push(String(data))))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const entry = `url: http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`
  desk.config(`mcp_servers:\n  t:\n    ${entry}    auth: oauth\n`)
  const { about, level } = await report(desk)
  assert.is(level('mcp t'), 'warn')
  assert.match(about('mcp t')[0]?.advice ?? '', 'Settings')
  desk.config(`mcp_servers:\n  t:\n    ${entry}`)
  assert.is((await report(desk)).level('mcp t'), 'ok')
  const closed = new Promise(resolve => server.close(resolve))
  assert.match((await report(desk)).about('mcp t')[0]?.said ?? '', 'connection refused')
  // Behind a proxy, a direct connection says nothing about the server.
  const proxied = await report(desk, { HTTPS_PROXY: 'http://127.0.0.1:1' })
  assert.is(proxied.level('mcp t'), 'ok')
  await closed
  assert.equal(received, [])
})

test('reports which external agents are installed and respond', async ({ desk }) => {
  const agent = bundleProgram(join(import.meta.dirname, '../../_acp-agent.ts'))
  const start = { acp_command: process.execPath, acp_args: [agent] }
  const providers = {
    well: { name: 'Well', ...start },
    dead: { ...start, env: { ACP_TEST: 'dies' } },
    out: { name: 'Out', ...start, env: { ACP_TEST: 'signed-out' } },
    mute: { ...start, acp_start_timeout: 1, env: { ACP_TEST: 'mute' } },
    gone: { acp_command: 'nonesuch-agent' },
    far: { acp_command: 'npx', acp_args: ['-y', 'some-agent'] },
  }
  desk.config(JSON.stringify({ providers }))
  const { about, level } = await report(desk)
  assert.match(about('agent well')[0]?.said ?? '', /^Well 1 answers and opens a session, /)
  assert.match(about('agent out')[0]?.said ?? '', /^Out 1: Out is not signed in/)
  assert.match(about('agent out')[0]?.advice ?? '', 'tester login')
  assert.match(about('agent mute')[0]?.said ?? '', /did not answer within 1 seconds/)
  assert.match(about('agent dead')[0]?.said ?? '', /ended with code 3: no license found/)
  assert.match(about('agent far')[0]?.said ?? '', /downloaded on first use/)
  for (const [id, wanted] of [
    ['well', 'ok'],
    ['dead', 'warn'],
    ['out', 'warn'],
    ['mute', 'warn'],
    ['gone', 'warn'],
    ['far', 'ok'],
  ])
    assert.is(level(`agent ${id}`), wanted, id)
})

test('names settings that nobody confirmed, and a file of confirmed ones that is damaged', async ({
  desk,
}) => {
  const state = join(desk.home, 'webui')
  mkdirSync(state)
  openSigningKey(state)
  new AcceptedSettings(state, signing(state)).accept('default', {})
  desk.config('approvals:\n  mode: "off"\n')
  const waits = await report(desk)
  assert.match(waits.about('approvals.mode')[0]?.said ?? '', /the earlier values stay in force/)
  writeFileSync(join(state, 'accepted-settings.json'), '{')
  const damaged = await report(desk)
  assert.is(damaged.about('confirmed settings')[0]?.level, 'fail')
  assert.match(damaged.about('approvals.mode')[0]?.advice ?? '', /agent-webui config/)
})

test('reports readable secrets without changing their permissions', async ({ desk }) => {
  const env = join(desk.home, '.env')
  writeFileSync(env, 'OPENAI_API_KEY=sk-abcdefghijklmnop1234\n')
  chmodSync(env, 0o644)
  const before = readdirSync(desk.home)
  const { about, out } = await report(desk)
  assert.match(about('secrets')[0]?.said ?? '', '.env is readable by other users')
  assert.match(about('providers')[0]?.said ?? '', 'OPENAI_API_KEY')
  assert.not.match(out, 'abcdefghijklmnop')
  assert.equal(readdirSync(desk.home), before)
  assert.not.ok(existsSync(join(desk.home, 'webui')))
})

test('accepts a new home and warns about the demo model', async ({ desk }) => {
  const { ok, level, about } = await report(desk)
  assert.ok(ok)
  assert.equal([level('model'), level('providers'), level('config.yaml')], ['warn', 'ok', 'ok'])
  assert.is(about('service')[0]?.said, 'not running; http://127.0.0.1:0 is free')
  const { code, out } = await desk.talk(['doctor'])
  assert.is(code, 0)
  assert.match(out, /^agent-webui \S+, Node /)
  assert.match(out, '! model: demo model')
})

test('checks another profile, its database and a running server', async () => {
  const app = await startApp()
  const desk = createDesk()
  const db = createStateDb(app.home, 30)
  addConversation(db, '20260101_000000_aaaaaa')
  db.close()
  mkdirSync(join(app.home, 'profiles', 'work'), { recursive: true })
  writeFileSync(
    join(app.state, 'instance.json'),
    JSON.stringify({ pid: process.pid, address: app.url, started_at: 0 }),
  )
  const env = { AGENT_HOME: app.home }
  const { about } = await report(desk, env)
  assert.is(about('state.db')[0]?.said, 'schema 30, 1 sessions')
  assert.is(about('service')[0]?.said, `running at ${app.url}`)
  const work = await report(desk, env, ['-p', 'work'])
  assert.match(work.about('home')[0]?.said ?? '', 'profile work')
  await app.close()
  desk.close()
})

test('--help and --version print; a port still starts the server', async ({ desk }) => {
  const help = await desk.talk(['--help'])
  assert.is(help.code, 0)
  for (const word of ['serve', 'chat', 'doctor', 'backup']) assert.match(help.out, `\n  ${word} `)
  assert.match((await desk.talk(['chat', '--help'])).out, '--resume')
  assert.match((await desk.talk(['help', 'serve'])).out, '--no-browser')
  assert.match(
    (await desk.talk(['--version'])).out,
    /^agent-webui \S+\nNode\.js [\d.]+ on \w+-\w+\n$/,
  )
  const running = desk.start(['0', '--no-browser'])
  await running.said('answers at http://127.0.0.1:')
  running.child.kill('SIGTERM')
  assert.is((await running.ended).code, 0)
})

test('an unknown command is named with the nearest one and starts nothing', () => {
  const command = '"chta" is not a command; did you mean agent-webui chat?'
  assert.is(unknownCommand(['chta', 'hello']), command)
  assert.is(
    unknownCommand(['frobnicate']),
    '"frobnicate" is not a command; agent-webui --help lists them all.',
  )
  for (const argv of [[], ['9000'], ['--no-browser'], ['serve', '9000'], ['doctor']])
    assert.is(unknownCommand(argv), null)
  assert.equal([commandOf(['serve', '9000']), commandOf(['chta'])], [null, 'unknown'])
  assert.equal(serverArguments(['serve', '9000']), ['9000'])
})

test('wrong arguments of the server are said plainly, not as a line of a log', async ({ desk }) => {
  for (const args of [['serve', '--bogus'], ['99999'], ['--host']]) {
    const { code, out, err } = await desk.run(args)
    assert.equal([code, out], [2, ''])
    assert.not.match(err, /\[webui\]/)
    assert.is(err.trim().split('\n').length, 1)
  }
})

test('--wait exits with 0 when the server responds, with 1 on timeout', async ({ desk }) => {
  const server = createServer(socket => socket.end('220 mail\r\n')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const waiting = await desk.talk(['doctor', '--wait', '0'], {
    env: { AGENT_WEBUI_PORT: `${port}` },
  })
  assert.is(waiting.code, 1)
  assert.match(waiting.err, 'does not respond')
  server.close()
  const running = desk.start(['0', '--no-browser'])
  const { code, out } = await desk.talk(['doctor', '--wait', '120'])
  // The first poll may come before the start and use the configured port until instance.json exists.
  assert.is(code, 0)
  assert.match(out, 'The server responds at http://127.0.0.1:')
  running.child.kill('SIGTERM')
  await running.ended
})

test.run()
