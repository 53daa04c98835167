/** Plan mode with the sandbox on: any command runs, and none of them changes anything. Real bubblewrap. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { git } from '../_git.ts'
import { snapshot } from '../_snapshot.ts'
import { reason } from '../lib/commands/sandbox/_sandbox.ts'
import { startChat } from './_chat.ts'

const sandboxed = suite('plan mode in a sandbox')
const test = reason === null ? sandboxed : sandboxed.skip

const lines = (name: string) =>
  readFileSync(join(import.meta.dirname, '../lib/agent/commands', `${name}.txt`), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))

const begin = async () => {
  const chat = await startChat()
  const { app } = chat
  appendFileSync(
    join(app.home, 'config.yaml'),
    `approvals:\n  mode: off\nsandbox:\n  enabled: true\n  writable: [${app.userHome}/shared]\n`,
  )
  mkdirSync(join(app.userHome, 'shared'))
  const dir = join(app.userHome, 'project')
  mkdirSync(join(dir, 'src'), { recursive: true })
  for (const name of ['a.txt', 'b.txt', 'f', 'src/a.ts'])
    writeFileSync(join(dir, name), `${name}\n`)
  await git(dir, 'init', '-q')
  await app.post('/api/workspaces/add', { path: dir })
  const { body } = await app.post('/api/session/new', { workspace: dir })
  const id = String(body.session.session_id)
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  await app.post('/api/session/yolo', { session_id: id, enabled: true })
  await app.post('/api/session/mode', { session_id: id, mode: 'plan' })
  const run = async (commands: readonly (string | Record<string, unknown>)[]) => {
    chat.provider.push(
      {
        toolCalls: commands.map((command, at) => ({
          id: `c${at}-${chat.provider.requests.length}`,
          name: 'terminal',
          arguments: typeof command === 'string' ? { command } : command,
        })),
      },
      { text: 'Done.' },
    )
    await chat.turn(id, 'Look at it.')
    return (await chat.messages(id))
      .filter(({ role }) => role === 'tool')
      .slice(-commands.length)
      .map(({ content }) => String(content))
  }
  return { chat, dir, id, run }
}

test('refuses the background, more access, and what no approval allows', async () => {
  const { chat, dir, run } = await begin()
  try {
    const { app } = chat
    const before = snapshot(app.userHome, [app.state])
    const given = [
      { command: 'ls', background: true },
      { command: 'ls', access: 'unconfined' },
      'rm -rf /',
      `cat ${app.home}/config.yaml`,
      `echo x >> ${app.home}/config.yaml`,
      `touch ${app.userHome}/shared/x`,
    ]
    const all = await run(given)
    for (const text of all.slice(0, 2)) assert.match(text, 'not in the background, and without')
    assert.match(all[2] ?? '', '"status":"blocked"')
    // The sandbox shows none of it.
    for (const text of all.slice(3)) assert.match(text, '"exit_code":1')
    assert.equal(snapshot(app.userHome, [app.state]), before)
    assert.ok(dir.startsWith(app.userHome))
  } finally {
    await chat.close()
  }
})

test('builds and tests run; attacks run and change nothing', async () => {
  const { chat, dir, run } = await begin()
  try {
    const { app, provider } = chat
    const before = snapshot(app.userHome, [app.state])
    const [status, built, node, network, mine] = await run([
      'git status --short',
      'cp a.txt /tmp/built && cat /tmp/built',
      `node -e "try { require('fs').writeFileSync('x', '') } catch (error) { console.log(error.code) }"`,
      'grep -c : /proc/net/dev',
      'echo x > a.txt',
    ])
    assert.match(status ?? '', '?? a.txt')
    assert.match(built ?? '', '"exit_code":0')
    assert.match(node ?? '', 'EROFS')
    assert.match(network ?? '', '"output":"1')
    assert.match(mine ?? '', 'Plan mode is on: commands can change only /tmp')
    assert.match(String(provider.requests[0]?.body.messages.at(-1).content), 'only /tmp can change')

    const isFull = process.env.PROOF === 'full'
    const attacks = lines('plan-writing').filter((_, at) => isFull || at % 4 === 1)
    // One of them waits for itself.
    const results = await run(attacks.map(command => ({ command, timeout: 2 })))
    const ran = results.filter(text => text.includes('"exit_code"') && !text.includes('"blocked"'))
    console.log(`  ${ran.length} of ${attacks.length} ran`)
    assert.ok(ran.length > attacks.length / 2)
    assert.equal(snapshot(app.userHome, [app.state]), before)
    assert.equal(snapshot(dir)[join(dir, 'a.txt')], before[join(dir, 'a.txt')])
  } finally {
    await chat.close()
  }
})

sandboxed.run()
