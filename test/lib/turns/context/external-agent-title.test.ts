/** The title of a chat with an external agent: the first that the agent makes, never a message, never over one of the user. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { takeTitle } from '../../../../lib/turns/context/external-agent.ts'

const test = suite('titles of external agents')

const chat = (title: string, ...asked: string[]) => {
  const row = { title }
  const meta: Record<string, unknown> = {}
  const messages = asked.map(content => ({ role: 'user', content }))
  const sessions = {
    row: () => row,
    head: () => ({ meta }),
    load: () => ({ messages }),
    append: (_: string, [{ patch }]: [{ patch: { title: string } }]) => {
      Object.assign(row, { title: patch.title })
      Object.assign(meta, patch)
    },
  }
  return {
    row,
    messages,
    take: (words: string) => {
      takeTitle('s1', words, sessions as never)
      return row.title
    },
  }
}

test('takes the first title and no later one', () => {
  const { take } = chat('Untitled', 'Fix the tests')
  assert.is(take('Test repair'), 'Test repair')
  assert.is(take('Something else'), 'Test repair')
})

test('no message is a title, in whole or cut', () => {
  const long = `BIGTEXT please ${'and more '.repeat(20)}`
  const { take, messages } = chat('Untitled', 'Fix the tests')
  assert.is(take('Fix the tests'), 'Untitled')
  for (const [said, sent] of [
    ['Now the docs, too', 'Now the docs, too'],
    [long, 'BIGTEXT please'],
    [long, `${long.slice(0, 40)}…`],
    [long, `${long.slice(0, 30)}...`],
    ['Make  it\nfaster', 'make it faster'],
  ] as const) {
    messages.push({ role: 'user', content: said })
    assert.is(take(sent), 'Untitled', sent)
  }
  for (const empty of ['', '  ', 'New chat']) assert.is(take(empty), 'Untitled')
  assert.is(take('Repairs'), 'Repairs')
})

test('a title of the user stays', () => {
  const { take } = chat('My project', 'Fix the tests')
  assert.is(take('Test repair'), 'My project')
})

test.run()
