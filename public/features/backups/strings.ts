/** English text of Settings → Backups, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'backups.lead':
    'One file with your chats, settings, and everything the agent keeps. To restore it, run “agent-webui restore” on the server.',
  'backups.load.failed': 'Couldn’t load backups',
  'backups.schedule': 'Schedule',
  'backups.on': 'Back up automatically',
  'backups.on.next': 'Next backup: {time}',
  'backups.dir': 'Folder',
  'backups.dir.hint': 'On the server, best on another disk.',
  'backups.every': 'How often',
  'backups.every.day': 'Every day',
  'backups.every.week': 'Every week',
  'backups.weekday': 'Day of the week',
  'backups.at': 'Time',
  'backups.at.hint': 'In the server’s time zone.',
  'backups.keep_daily': 'Daily backups to keep',
  'backups.keep_weekly': 'Weekly backups to keep',
  'backups.keep.hint': 'The newest backup of each week. Older ones are deleted.',
  'backups.keys.off':
    'API keys and passwords are not included. To include them, encrypted, set AGENT_WEBUI_BACKUP_PASSPHRASE on the server.',
  'backups.keys.on':
    'API keys and passwords are included, encrypted with the server’s passphrase. Keep that passphrase somewhere else, too.',
  'backups.files': 'Saved backups',
  'backups.now': 'Back up now',
  'backups.running': 'Backing up…',
  'backups.none': 'No backups yet',
  'backups.last.failed': 'The last backup failed: {reason}',
  'backups.last.problems': {
    one: '{count} file couldn’t be saved completely. The server’s log says why.',
    other: '{count} files couldn’t be saved completely. The server’s log says why.',
  },
  'backups.download': 'Download the backup of {time}',
} as const)
