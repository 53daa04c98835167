/** Which command the arguments mean, and how a wrong one ends. */
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { commandOf } from '../../../lib/cli/cli.ts'
import { createDesk } from './_run.ts'

const test = suite('arguments of the command line')

test('the command that is meant', () => {
  const meant = (line: string) => commandOf(line.split(' '))
  for (const line of ['--help', '-h', 'help', 'help doctor', 'doctor --help', 'doctor help'])
    assert.is(meant(line), 'help', line)
  for (const line of ['--version', '-V', '-v', 'version']) assert.is(meant(line), 'version', line)
  for (const line of ['bogus', 'bogus --help', 'help bogus'])
    assert.is(meant(line), 'unknown', line)
  for (const line of ['9000', 'serve', '--no-browser']) assert.is(meant(line), null, line)
  // A message of one word.
  assert.is(meant('chat help'), 'chat')
})

test('exit codes: what is not understood, what fails, what a file system refuses', async () => {
  using desk = createDesk()
  desk.config('model: {provider: demo}\n')
  const run = async (...args: string[]) => {
    const { code, err } = await desk.talk(args)
    return { code, err }
  }
  for (const args of [['bogus', '--help'], ['doctor', '--bogus'], ['export'], ['import']])
    assert.is((await run(...args)).code, 2, args.join(' '))
  // Of the file, not of the home, which is in use as well.
  const missing = await run('restore', '/no/such/file.tar.zst')
  assert.is(missing.code, 1)
  assert.ok(!missing.err.includes(desk.home), missing.err)
  assert.is((await run('backup', join(desk.home, 'config.yaml', 'x.tar.zst'))).code, 1)
})

test.run()
