/** The service replaces itself: a spawned one, run from a checkout of its own sources, pulls, builds and comes back as the new version. */
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort, startProgram } from '../../../build/start-program.ts'
import { createRepositories, GIT_ENV, git } from '../../_git.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const SOURCES = ['router.ts', 'package.json', 'lib', 'handlers', 'public', 'build']

const test = suite('self-update')

test('after a successful webui update the process is replaced by the new version', async () => {
  const ours = createRepositories({
    'setup.mjs': "import { writeFileSync } from 'node:fs'\nwriteFileSync('built', '')\n",
    '.gitignore': 'built\nnode_modules\n',
  })
  const other = join(ours.root, 'other')
  for (const name of SOURCES) cpSync(join(root, name), join(other, name), { recursive: true })
  ours.push({ 'note.txt': '1' })
  git(ours.checkout, 'pull', '--quiet')
  symlinkSync(join(root, 'node_modules'), join(ours.checkout, 'node_modules'))
  git(other, 'tag', 'v1.0.0')
  git(ours.checkout, 'tag', 'v1.0.0')

  const program = await startProgram(
    process.execPath,
    [join(ours.checkout, 'router.ts'), '--no-browser'],
    { home: join(ours.root, 'home'), port: await freePort(), env: GIT_ENV },
  )
  const api = async (path: string, body?: unknown) => {
    const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    return (await fetch(program.url + path, init)).json() as Promise<Record<string, unknown>>
  }
  try {
    assert.is((await api('/api/settings')).webui_version, 'v1.0.0')
    const { session } = await api('/api/session/new', { x: 1 })
    const stream = await fetch(`${program.url}/api/events`)
    const commit = ours.push({ 'note.txt': '2' })
    const reply = await api('/api/updates/apply', { target: 'webui' })
    assert.equal([reply.ok, reply.restart_scheduled], [true, true])
    assert.ok(existsSync(join(ours.checkout, 'built')))
    // The old process ends its streams on its way out.
    const reader = stream.body!.getReader()
    while (!(await reader.read().catch(() => ({ done: true }))).done);
    /** The old process answers running requests while it exits; in between, none listens. */
    const version = async (): Promise<string> => {
      const said = await api('/api/settings').catch(() => ({ webui_version: 'v1.0.0' }))
      if (said.webui_version !== 'v1.0.0') return String(said.webui_version)
      await new Promise(resolve => setTimeout(resolve, 20))
      return version()
    }
    const now = await version()
    assert.match(now, /^v1\.0\.0-1-g/)
    assert.ok(commit.startsWith(now.split('-g')[1]!))
    const { session_id } = session as { session_id: string }
    const kept = await api(`/api/session?session_id=${session_id}`)
    assert.ok(kept.session)
    assert.is(program.child.exitCode, null, 'it is the same process')
    const { pid } = JSON.parse(
      readFileSync(join(ours.root, 'home', '.agent', 'webui', 'instance.json'), 'utf8'),
    )
    assert.is(pid, program.child.pid)
  } finally {
    const code = await program.stop()
    assert.is(code, 0, program.output())
    ours.remove()
  }
})

test.run()
