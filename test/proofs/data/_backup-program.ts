/** Makes one backup of a home, as a program that can be killed: `<home> <target>`. Prints its peak memory in kB. */
import { join } from 'node:path'
import { makeBackup } from '../../../lib/backups/backup.ts'

const [home = '', target = ''] = process.argv.slice(2)
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
    withoutKeys: (_, text) => text,
    version: 'proof',
  })
  process.stdout.write(String(process.resourceUsage().maxRSS))
} catch (error) {
  process.stderr.write(String(error))
  process.exitCode = 1
}
