/** Questions at a terminal: the typed line, the end of the input, and an abort. */
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TerminalQuestions } from '../../../lib/cli/terminal-questions.ts'
import { ProcessTerminal } from '../../../lib/cli/terminal.ts'

const test = suite('terminal')

const streams = () => {
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const terminal = new ProcessTerminal(
    input as unknown as NodeJS.ReadStream,
    output as unknown as NodeJS.WriteStream,
    errors as unknown as NodeJS.WriteStream,
  )
  return { terminal, input }
}

test('null at the end of the input, and when aborted', async () => {
  const { terminal, input } = streams()
  const asked = new AbortController()
  const answer = terminal.ask('> ', asked.signal)
  asked.abort()
  assert.is(await answer, null)
  assert.is(await terminal.ask('> ', asked.signal), null)
  input.end()
  assert.is(await terminal.ask('> '), null)
})

test('the typed line, also without echo', async () => {
  const { terminal, input } = streams()
  const answer = terminal.ask('> ')
  input.write('hello\n')
  assert.is(await answer, 'hello')
  const hidden = terminal.askHidden('Password: ')
  input.write('secret\n')
  assert.is(await hidden, 'secret')
})

test('the offer to retry now ends with the wait, and does not stop the turn', async () => {
  const { terminal, input } = streams()
  const called: string[] = []
  const questions = new TerminalQuestions(
    Object.assign(terminal, { interactive: true }),
    () => undefined,
    () => 0,
    () => called.push('stop'),
  )
  const offer = async (then: () => void) => {
    questions.offerRetry(() => called.push('retry'))
    await setImmediate()
    then()
    await setImmediate()
  }
  await offer(() => questions.endRetryOffer())
  assert.equal(called, [])
  await offer(() => input.write('\n'))
  assert.equal(called, ['retry'])
  await offer(() => input.end())
  assert.equal(called, ['retry', 'stop'])
})

test('an approval says where the command would run', async () => {
  const { terminal, input } = streams()
  const notes: string[] = []
  const questions = new TerminalQuestions(
    Object.assign(terminal, { interactive: true }),
    line => void notes.push(line),
    () => 0,
    () => undefined,
  )
  const ask = async (runs_in?: 'outside' | 'sandbox_network') => {
    const answer = questions.approve(
      {
        session_id: 's',
        command: 'make',
        pattern_key: 'x',
        pattern_keys: ['x'],
        description: 'Why.',
        cwd: '/work',
        ...(runs_in && { runs_in }),
      },
      0,
    )
    await setImmediate()
    input.write('d\n')
    assert.is(await answer, 'deny')
    return (notes.at(-1) ?? '').trim().split('\n')[0] ?? ''
  }
  assert.is(await ask(), 'The agent wants to run in /work:')
  assert.is(await ask('outside'), 'The agent wants to run OUTSIDE THE SANDBOX, in /work:')
  assert.match(await ask('sandbox_network'), 'in the sandbox, with network access, in /work:')
})

test.run()
