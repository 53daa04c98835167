/** Why a sandbox does not work here: one sentence, with what allows it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  causeOfComplaint,
  type SandboxFacts,
} from '../../../../lib/commands/sandbox/availability.ts'

const test = suite('sandbox: causes')

const FACTS: SandboxFacts = {
  appArmor: 0,
  canClone: 1,
  maxNamespaces: 63_000,
  isContainer: false,
  isUnit: false,
}
const DENIED =
  'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.'
const CASES: readonly (readonly [
  facts: Partial<SandboxFacts>,
  complaint: string,
  cause: RegExp,
])[] = [
  [{ appArmor: 1 }, DENIED, /^AppArmor forbids user namespaces .*apparmor_parser -r \S+$/],
  [{ canClone: 0 }, DENIED, /: sudo sysctl -w kernel\.unprivileged_userns_clone=1$/],
  [{ maxNamespaces: 0 }, DENIED, /: sudo sysctl -w user\.max_user_namespaces=15000$/],
  [{ isContainer: true }, DENIED, /^this container forbids it \(bwrap: No permissions/],
  [{ isUnit: true }, DENIED, /^the systemd unit forbids it .*systemd\/agent-webui\.service/],
  [{}, DENIED, /^user namespaces are off, or not allowed here/],
  [{}, 'bwrap: Creating new namespace failed: No space left on device', /^user namespaces are/],
  [{}, 'bwrap: setting up uid map: Permission denied', /^user namespaces are off/],
  // Where the kernel has neither file.
  [{ appArmor: null, canClone: null, maxNamespaces: null }, DENIED, /^user namespaces are off/],
  [{}, 'bwrap: something else', /^bwrap: something else$/],
]

test('names the cause that can be removed, not only what bubblewrap says', () => {
  for (const [facts, complaint, cause] of CASES)
    assert.match(`${causeOfComplaint(complaint, { ...FACTS, ...facts })}`, cause)
})

test.run()
