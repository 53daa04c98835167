/** Names of the themes in English; loaded with what lists them. */
import { translator } from '../../strings/t.ts'

export const t = translator('settings.theme', {
  'theme.dark': 'Dark',
  'theme.light': 'Light',
  'theme.solarized': 'Solarized',
  'theme.monokai': 'Monokai',
  'theme.nord': 'Nord',
  'theme.mist': 'Mist',
  'theme.contrast': 'High contrast',
  'theme.system': 'System',
})
