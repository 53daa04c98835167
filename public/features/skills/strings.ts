/** English text of the skills view, loaded with it. */
import { enEditing } from '../../strings/editing.ts'
import { translator } from '../../strings/t.ts'

export const enSkills = {
  ...enEditing,
  'skills.title': 'Skills',
  'skills.new': 'New skill',
  'skills.list': 'Skills',
  'skills.search': 'Search skills',
  'skills.none': 'No results for “{query}”',
  'skills.failed': 'Couldn’t load skills.',
  'skills.empty': 'No skills yet',
  'skills.empty.text':
    'Skills are instructions the agent loads when a task needs them. Run one with /name.',
  'skills.choose': 'Select a skill',
  'skills.other': 'Uncategorized',
  'skills.off': 'off',
  'skills.incompatible': 'unsupported OS',
  'skills.enabled': 'Enabled',
  'skills.readonly': 'Read-only (stored outside this profile).',
  'skills.unsupported': 'Not supported on this operating system.',
  'skills.call': 'Use {slug} in a message to run it.',
  'skills.needs': 'Requires {names}',
  'skills.tags': 'Tags',
  'skills.files': 'Linked files',
  'skills.file.binary': 'Binary file ({count} bytes)',
  'skills.file.close': 'Close {name}',
  'skills.file.other': 'Save or cancel your changes to {name} first.',
  'skills.file.removed': 'This file was deleted.',
  'skills.file.long': 'Skill files are limited to 1 MB.',
  'skills.back': 'All skills',
  'skills.missing': '“{name}” no longer exists.',
  'skills.menu': 'Options for “{name}”',
  'skills.delete.title': 'Delete “{name}”?',
  'skills.delete.text':
    'The skill and all its files will be permanently deleted. This can’t be undone.',
  'skills.deleted': 'Deleted “{name}”',
  'skills.saved': 'Saved “{name}”',
  'skills.name': 'Name',
  'skills.name.hint': 'Lowercase letters, digits, periods, and hyphens',
  'skills.category': 'Category',
  'skills.category.hint': 'Optional',
  'skills.category.move': 'Changing the category moves the skill.',
  'skills.text': 'Content',
  'skills.form.new': 'New skill',
  'skills.form.edit': 'Edit “{name}”',
  'skills.removed': 'This skill was deleted.',
  'skills.template':
    '---\nname: {name}\ndescription: When to use it, in one sentence.\n---\n\n# What to do\n\n1. First …\n',
  'kind.references': 'References',
  'kind.templates': 'Templates',
  'kind.assets': 'Assets',
  'kind.scripts': 'Scripts',
} as const

export const t = translator(enSkills)
