/** Which reasoning of finished turns is recorded. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toStateEntry } from '../../../../lib/turns/context/provider-states.ts'

const test = suite('provider states')

const masked = (text: string) => text.replaceAll('hunter2', '***')
const recorded = (items: unknown[], id: string | undefined = 'm1') =>
  toStateEntry(id, { endpointKey: 'k', items, callSources: undefined }, masked).length === 1

test('records a state, but none with a secret at any depth, none over a million characters', () => {
  assert.ok(recorded([{ item: { thinking: 'why' } }]))
  assert.not.ok(recorded([{ item: { parts: ['a', { text: 'the hunter2' }] } }]))
  assert.ok(recorded(['a'.repeat(990_000)]))
  assert.not.ok(recorded(['a'.repeat(1_000_001)]))
  assert.equal(toStateEntry('m1', undefined, masked), [])
})

test.run()
