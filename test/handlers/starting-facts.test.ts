/** Facts of a workspace for suggestions: read, never executed. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startingFacts } from '../../lib/turns/context/project-facts.ts'
import { startApp } from '../_app.ts'

const test = suite('starting facts')

test('rejects directories that are not trusted; tells an empty one from a repository with changes and marks', async () => {
  await using app = await startApp()
  const facts = async (path: string) =>
    app.get(`/api/workspaces/facts?path=${encodeURIComponent(path)}`)
  assert.is((await facts('/etc')).status, 400)

  const plain = join(app.userHome, 'plain')
  mkdirSync(plain)
  assert.equal((await facts(plain)).body, {
    empty: true,
    readme: false,
    test_command: null,
    changed_files: null,
    todos: null,
    commands: { place: 'computer', outside: 'dangerous', problem: null },
  })

  const shop = join(app.userHome, 'shop')
  mkdirSync(shop)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.c', ...args], { cwd: shop })
  writeFileSync(join(shop, 'a.ts'), '// TODO: one\n// FIXME two\n// TODOS is another word\n')
  writeFileSync(join(shop, 'README.md'), '# Shop\n')
  writeFileSync(join(shop, 'package.json'), '{"scripts":{"test":"touch ran"}}')
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'First')
  // Programs that git would start in this repository.
  git('config', 'core.fsmonitor', 'touch ran; false')
  writeFileSync(join(shop, 'b.ts'), '// TODO is not tracked\n')
  // Over HTTP, a fact that takes too long on a busy machine is left out.
  const { body } = await facts(shop)
  assert.equal([body.empty, body.readme, body.test_command], [false, true, 'npm test'])
  const patient = { path: process.env.PATH, userHome: app.userHome, timeoutMs: 60_000 }
  const bounds = { root: realpathSync(shop), isHidden: () => false }
  assert.equal(await startingFacts(bounds, patient), {
    empty: false,
    readme: true,
    test_command: 'npm test',
    changed_files: 1,
    todos: 2,
  })
  assert.not.ok(existsSync(join(shop, 'ran')))
})

test.run()
