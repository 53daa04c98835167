/** The rule of roles. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { may } from '../../../lib/people/may.ts'
import type { Access, Role } from '../../../lib/schema/person.ts'

const test = suite('auth/may')

const ACCESS: readonly Access[] = ['read', 'work', 'own']
const allowed = (role: Role, profiles: string[] | null, profile: string | null) =>
  ACCESS.filter(access => may({ role, profiles }, access, profile))

test('a viewer reads in the profiles given, a member works in them, an owner does everything', () => {
  assert.equal(allowed('viewer', ['team'], 'team'), ['read'])
  assert.equal(allowed('member', ['team'], 'team'), ['read', 'work'])
  assert.equal(allowed('owner', null, 'team'), ['read', 'work', 'own'])
  assert.equal(allowed('owner', [], 'team'), ['read', 'work', 'own'])
})

test('nothing is allowed in another profile, or with a name in another case', () => {
  for (const profile of ['home', 'Team', 'team ', ''])
    for (const role of ['viewer', 'member'] as const) {
      assert.equal(allowed(role, ['team'], profile), [])
      assert.equal(allowed(role, null, profile), [])
    }
})

test('what belongs to no profile depends on the role alone', () => {
  assert.equal(allowed('viewer', [], null), ['read'])
  assert.equal(allowed('member', [], null), ['read', 'work'])
})

test.run()
