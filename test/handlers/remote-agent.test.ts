/** An external agent of another user, as on another machine: reached through a pipe, with files and terminals of its own. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { bundleProgram } from '../_program.ts'
import { until } from '../_wait.ts'

const test = suite('external agents with files of their own')

/** A user without a name, without rights, and without other groups. */
const OTHER = 65_534
const PREFIX = [`--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups']

const whyNot = (): string | null => {
  if (process.getuid?.() !== 0) return 'it needs root to become another user'
  const { status } = spawnSync('setpriv', [...PREFIX, process.execPath, '--version'])
  return status === 0 ? null : 'setpriv cannot start Node as another user'
}
const reason = whyNot()
if (reason !== null) console.log(`  remote agent: skipped, ${reason}`)
const asOther = reason === null ? test : test.skip

const AGENT = bundleProgram(join(import.meta.dirname, '../_acp-agent.ts'))

const start = async () => {
  // The temporary directory of a test run is closed to other users.
  const root = mkdtempSync('/tmp/remote-')
  chmodSync(root, 0o755)
  const agent = join(root, 'agent.mjs')
  copyFileSync(AGENT, agent)
  chmodSync(agent, 0o644)
  const there = join(root, 'home')
  mkdirSync(there, { mode: 0o700 })
  chownSync(there, OTHER, OTHER)
  const app = await startApp()
  writeFileSync(join(app.home, '.env'), `ACP_TEST_STATE=${join(there, 'state.json')}\n`)
  const server = JSON.stringify({ command: 'nothing', args: [], env: { KEY: 'sk-secret' } })
  writeFileSync(
    join(app.home, 'config.yaml'),
    `checkpoints:
  enabled: false
mcp_servers:
  ours: ${server}
providers:
  there:
    name: There
    acp_command: setpriv
    acp_args: ${JSON.stringify([...PREFIX, process.execPath, agent])}
    acp_files: agent
    acp_cwd: ${there}
`,
  )
  const { session } = (await app.post('/api/session/new', { model: '@acp:there' })).body
  const view = async () =>
    (await app.get(`/api/session?session_id=${session.session_id}`)).body.session
  return {
    app,
    there,
    workspace: session.workspace as string,
    async say(message: string): Promise<string> {
      await app.post('/api/chat/start', { session_id: session.session_id, message })
      await until(async () => (await view()).active_stream_id === null, 'the end of the turn')
      return (await view()).messages.at(-1).content
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      await app.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

asOther(
  'it works in its own directory as itself, and the files, terminals, and MCP servers of the service are not its own',
  async () => {
    await using at = await start()
    const { there } = at
    const { uid, cwd, fs, terminal, asked } = JSON.parse(await at.say('own result.txt'))
    assert.equal([uid, cwd], [OTHER, there])
    assert.equal([fs, terminal], [{ readTextFile: false, writeTextFile: false }, false])
    for (const answer of asked) assert.match(answer, /refused: .*own files and terminals/)
    const file = join(there, 'result.txt')
    assert.equal([readFileSync(file, 'utf8'), statSync(file).uid], ['done\n', OTHER])
    assert.not(existsSync(`${file}.touched`) || existsSync(join(at.workspace, 'result.txt')))
    const [state] = Object.values(JSON.parse(readFileSync(join(there, 'state.json'), 'utf8'))) as {
      servers: unknown[]
      cwd: string
    }[]
    assert.equal([state?.servers, state?.cwd], [[], there])
  },
)

asOther('the next message finds its session again after a restart of the service', async () => {
  await using at = await start()
  await at.say('hello one')
  await at.app.restart()
  assert.is(await at.say('recall'), 'I have heard: hello one | recall')
})

test.run()
