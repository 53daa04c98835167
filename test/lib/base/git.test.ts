/** The git runner: its search path, its configuration from the environment, no network and no prompts. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { configEnv, localGitEnv, runGit, safePath } from '../../../lib/base/git.ts'

const test = suite('git')
const limits = { cwd: '/', timeoutMs: 120_000 }

test('relative entries of the search path are dropped', () => {
  assert.is(safePath('.:/usr/bin::bin:/bin'), '/usr/bin:/bin')
  assert.is(safePath(undefined), '/usr/local/bin:/usr/bin:/bin')
})

test('a failure is an exit code with the message of git', async () => {
  const env = { ...localGitEnv(process.env.PATH), GIT_DIR: '/no/such/repository' }
  const { code, stderr } = await runGit(['rev-parse', 'HEAD'], { ...limits, env })
  assert.is(code, 128)
  assert.match(stderr, /not a git repository/)
})

test('no protocol is allowed', async () => {
  const env = localGitEnv(process.env.PATH)
  for (const url of ['file:///no/such', 'https://127.0.0.1:1/x', 'ssh://127.0.0.1:1/x']) {
    const { code, stderr } = await runGit(['ls-remote', url], { ...limits, env })
    assert.is(code, 128)
    assert.match(stderr, /not allowed/)
  }
})

test('configuration from the environment keeps keys and values as they are', async () => {
  const env = { ...localGitEnv(process.env.PATH), ...configEnv([['a.b=c"d.e', 'f g']]) }
  const { stdout } = await runGit(['config', '--get', 'a.b=c"d.e'], { ...limits, env })
  assert.is(stdout.toString(), 'f g\n')
})

test('the caller cannot switch prompts on', async () => {
  const env = { ...localGitEnv(process.env.PATH), GIT_TERMINAL_PROMPT: '1' }
  const alias = ['-c', 'alias.x=!echo $GIT_TERMINAL_PROMPT', 'x']
  assert.is((await runGit(alias, { ...limits, env })).stdout.toString(), '0\n')
})

test.run()
