/** The keys of config.yaml for the sandbox of commands. */
import { isHostPattern } from '../base/host-pattern.ts'
import { yamlFlag, yamlWord } from '../store/yaml-file.ts'
import { commaTexts, custom, section } from './config-schema-helpers.ts'

export const sandboxKeys = {
  sandbox: section(
    {
      enabled: custom<boolean | 'auto'>({
        type: 'true, false, or auto',
        description:
          'Run commands in a sandbox (bubblewrap, on macOS sandbox-exec): they can change the workspace only. `auto`: wherever it works when the service starts. With true, commands are refused where it does not work.',
        fallback: 'auto',
        read: value => (yamlWord(value) === 'auto' ? 'auto' : yamlFlag(value)),
      }),
      network: custom<boolean | string[]>({
        type: 'true, false, or a list of texts',
        description:
          'What commands in the sandbox reach without a question: a list of hosts such as `registry.npmjs.org`, `*.github.com` or `db.example:5432`; false: nothing; true: all of the network, that of this computer included.',
        fallback: false,
        read: value =>
          Array.isArray(value)
            ? value.filter(each => typeof each === 'string').map(each => each.trim())
            : (yamlFlag(value) ??
              (typeof value === 'string' && isHostPattern(value) ? [value] : undefined)),
      }),
      readable: commaTexts(
        'More files and folders that commands may read; `~` is your home directory.',
      ),
      writable: commaTexts('More files and folders that commands may change.'),
      hidden: commaTexts('Files and folders that commands and file tools never see.'),
    },
    'enabled',
  ),
}
