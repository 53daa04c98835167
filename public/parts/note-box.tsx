/** What a person should know of something, line by line. */
import { Icon } from './icon.tsx'

/** `lines` that are not texts are left out. */
export const NoteBox = ({ lines, warns }: { lines: readonly unknown[]; warns: boolean }) => {
  const texts = lines.filter((line): line is string => typeof line === 'string' && line !== '')
  if (texts.length === 0) return null
  return (
    <div class={`note-box${warns ? ' note-warn' : ''}`}>
      <Icon name={warns ? 'alert' : 'info'} size={18} />
      <div class="note-text">
        {texts.map(line => (
          <p key={line}>{line}</p>
        ))}
      </div>
    </div>
  )
}
