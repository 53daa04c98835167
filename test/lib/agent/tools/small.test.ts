/** The list of steps and the question. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { todoMemo } from '../../../../lib/agent/tools/todo.ts'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('todo and clarify')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const item = (id: string, status = 'pending') => ({ id, content: `step ${id}`, status })

test('replace, merge, read', async () => {
  await bench.use('todo', { todos: [item('1'), item('2'), item('2', 'cancelled')] })
  await bench.use('todo', { todos: [item('1', 'completed'), item('3')], merge: true })
  const { todos, summary } = await bench.json('todo', {})
  assert.equal(
    todos.map((one: { id: string; status: string }) => `${one.id} ${one.status}`),
    ['1 completed', '2 cancelled', '3 pending'],
  )
  assert.equal(summary, { total: 3, pending: 1, in_progress: 0, completed: 1, cancelled: 1 })
})

test('entries without an id get one: that of the same content, else a free number', async () => {
  const step = (content: string, status = 'pending') => ({ content, status })
  await bench.use('todo', { todos: [step('a'), { id: '1', ...step('b') }, step('c')] })
  await bench.use('todo', { todos: [step('c', 'completed'), step('d')], merge: true })
  const { todos } = await bench.json('todo', {})
  assert.equal(
    todos.map((one: { id: string; content: string; status: string }) =>
      Object.values(one).join(' '),
    ),
    ['2 a pending', '1 b pending', '3 c completed', '4 d pending'],
  )
})

test('an unanswered question, an answered one, one that is too long', async () => {
  const ask = { question: ' Which? ', choices: ['a', 'b'] }
  assert.match((await bench.json('clarify', ask)).user_response, 'own judgment')
  bench.ctx.clarify = async (question, choices) => `${question} ${choices[1]}`
  assert.equal(await bench.json('clarify', ask), {
    question: 'Which?',
    choices_offered: ['a', 'b'],
    user_response: 'Which? b',
  })
  assert.match(await refused(bench.use('clarify', { question: ' ' })), 'question')
  assert.match(
    await refused(bench.use('clarify', { question: 'x', choices: ['1', '2', '3', '4', '5'] })),
    'choices',
  )
})

test('a run goes on with the newest list of the conversation, whatever failed after it', async () => {
  const shown = (name: string, content: string) => ({ role: 'tool' as const, name, content })
  const lists = [[item('1')], [item('1', 'completed'), item('2')]]
  const [first, second] = lists.map(todos => shown('todo', JSON.stringify({ todos, summary: {} })))
  const noise = [shown('todo', 'Error: todos[0].status'), shown('terminal', '{"todos":[]}')]
  for (const [entry, value] of todoMemo([first!, second!, ...noise]))
    bench.ctx.memo.set(entry, value)
  const { summary } = await bench.json('todo', { todos: [item('3')], merge: true })
  assert.equal(summary, { total: 3, pending: 2, in_progress: 0, completed: 1, cancelled: 0 })
  assert.equal(todoMemo(noise), [])
})

test.run()
