/** English text of Settings → Backups, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('backups', {
  'backups.lead':
    'One file with your chats, settings, and everything the agent keeps. To restore it, run “agent-webui restore” on the server.',
  'backups.timer':
    'To make backups regularly, call “agent-webui backup” from a systemd timer or cron on the server. docs/backup.md has an example.',
  'backups.stopped':
    'Backups are no longer made on a schedule here. Set up a timer on the server, then choose the folder again.',
  'backups.load.failed': 'Couldn’t load backups.',
  'backups.dir': 'Folder',
  'backups.dir.hint': 'On the server, best on another disk.',
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
