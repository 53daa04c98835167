/** Makes one backup of a home, as a program that can be killed: `<home> <target>`; with `hold`, it stops while it writes. */
import { join } from 'node:path'
import { makeBackup } from '../../../lib/operations/backups/backup.ts'

const [home = '', target = '', hold] = process.argv.slice(2)
try {
  await makeBackup({
    places: [
      { root: 'state', dir: join(home, 'webui'), kind: 'state' },
      { root: 'home', dir: home, kind: 'home' },
    ],
    excluded: [],
    now: Date.now(),
    target,
    passphrase: null,
    withoutKeys(_, text) {
      if (hold) {
        process.stdout.write('writes')
        process.kill(process.pid, 'SIGSTOP')
      }
      return text
    },
    version: 'proof',
  })
} catch (error) {
  process.stderr.write(String(error))
  process.exitCode = 1
}
