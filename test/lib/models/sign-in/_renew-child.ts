/** A process that asks once for the key of a sign-in: `_renew-child.ts <dir> <token url>`. Prints the key. */
import { join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { SignIns } from '../../../../lib/models/sign-in/sign-ins.ts'
import { jwtClaims } from '../../../../lib/base/jwt.ts'

const [dir = '', tokenUrl = ''] = process.argv.slice(2)
const signIns = new SignIns({
  clock: systemClock,
  sharedFile: join(dir, 'shared', 'nous_auth.json'),
  log: (line, extra) => console.error(line, JSON.stringify(extra)),
  issuerOf: () => ({ tokenUrl }),
})
const signIn = { dir, provider: 'openai-codex', id: 'sign-in' }
const key = await signIns.keyFor({ apiKey: 'old', signIn }, false)
console.log(jwtClaims(key).issued ?? 'old')
