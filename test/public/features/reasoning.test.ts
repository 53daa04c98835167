/** Which efforts the page offers: those that the chat's model knows. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ReasoningState } from '../../../public/features/composer/reasoning.ts'
import { fakePlatform } from '../_page.ts'

const test = suite('reasoning in the page')

test('the efforts of the model are offered, all of them where the service does not say', async () => {
  const asked: unknown[] = []
  const efforts: Record<string, string[] | undefined> = {
    switched: ['none', 'high'],
    silent: [],
    newer: ['low', 'colossal'],
    old: undefined,
  }
  const fake = fakePlatform({
    'GET /api/reasoning': input => {
      asked.push(input.model)
      return {
        show_reasoning: true,
        reasoning_effort: 'medium',
        efforts: efforts[String(input.model)],
      }
    },
  })
  const reasoning = new ReasoningState(fake.platform)
  const all = [...reasoning.offered.value]
  assert.is(all.length, 6)
  for (const [model, offered] of [
    ['switched', ['none', 'high']],
    ['silent', []],
    ['newer', ['low']],
    ['old', all],
  ] as const) {
    await reasoning.loadOffered(model)
    assert.equal([...reasoning.offered.value], offered, model)
    assert.is(reasoning.effort.value, 'medium')
  }
  assert.equal(asked, ['switched', 'silent', 'newer', 'old'])
})

test.run()
