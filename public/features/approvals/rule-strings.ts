/** The English catalogue of the form for a rule; it comes with the form. */
import { translator } from '../../strings/t.ts'

export const enRule = {
  label: 'What to allow',
  shorter: 'Use {rule}',
  exact: 'Use the exact command',
  scope: 'Where',
  'scope.session': 'This session',
  'scope.workspace': 'This workspace',
  'scope.profile': 'This profile',
  'exact.session':
    'Runs exactly this command without asking, in this folder, until this session ends.',
  'exact.workspace':
    'Runs exactly this command without asking, in this workspace. You can remove it in the settings under Security.',
  'exact.profile':
    'Runs exactly this command without asking, in every folder. You can remove it in the settings under Security.',
  'first.session':
    'Runs commands that begin with “{words}” without asking until this session ends.',
  'first.workspace':
    'Runs commands that begin with “{words}” without asking, in this workspace. You can remove it in the settings under Security.',
  'first.profile':
    'Runs commands that begin with “{words}” without asking, in every folder. You can remove it in the settings under Security.',
  limits:
    'The agent still asks about combined commands, other options, and paths outside the folder.',
  wrong:
    'Enter the exact command, or its first words followed by “ *”. The shortest rule is “{rule}”.',
  allow: 'Allow',
  back: 'Back',
} as const

export const tr = translator(enRule)
