/** What few messages of a person have: attached files, and several versions. */
import { useSignal } from '@preact/signals'
import { Icon } from '../../parts/icon.tsx'
import { isImagePath, fileName } from '../../parts/file-kind.ts'
import { usePart } from '../../parts/use-part.ts'
import { t } from '../../strings/transcript-strings.ts'
import { useLightbox } from '../lightbox/use-lightbox.ts'
import { useTranscript } from '../messages/transcript-context.ts'

type VersionsProps = { id: string; ids: readonly string[]; show: (id: string) => void }

/** Which version of the message is shown, and the way to its neighbors. */
export function Versions({ id, ids, show }: VersionsProps) {
  const at = ids.indexOf(id)
  const button = (label: string, sign: string, to: string | undefined) => (
    <button
      type="button"
      class="tx-tool"
      title={label}
      aria-label={label}
      disabled={to === undefined}
      onClick={() => to !== undefined && show(to)}
    >
      {sign}
    </button>
  )
  const place = { n: at + 1, count: ids.length }
  return (
    <>
      <span class="tx-sr">{t('tx.version', place)}</span>
      {button(t('tx.version.previous'), '‹', ids[at - 1])}
      <span aria-hidden="true">{`${place.n}/${place.count}`}</span>
      {button(t('tx.version.next'), '›', ids[at + 1])}
    </>
  )
}

/** Relative to the page's base. A picture that is kept with the chat is named by its whole path. */
const rawUrl = (session: string, path: string): string =>
  `api/${path[0] === '/' ? 'media' : 'file/raw'}?session_id=${encodeURIComponent(session)}&path=${encodeURIComponent(path)}`

/** Images as thumbnails, other files by name. */
export function Attachments({ names }: { names: readonly string[] }) {
  const broken = useSignal<readonly string[]>([])
  const show = useLightbox()
  const { chat, actions } = useTranscript()
  const { openFile } = actions
  const session = usePart(chat, ({ sessionId }) => sessionId)
  if (names.length === 0) return null
  const isPicture = (name: string): boolean =>
    session !== '' && isImagePath(name) && !broken.value.includes(name)
  const pictures = names.filter(isPicture)
  const files = names.filter(name => !isPicture(name))
  return (
    <>
      {pictures.length > 0 && (
        <ul class="user-pictures" aria-label={t('tx.attached')}>
          {pictures.map(name => (
            <li key={name}>
              <button
                type="button"
                title={name}
                aria-label={t('tx.file.open', { name })}
                data-picture
                onClick={show}
              >
                <img
                  src={rawUrl(session, name)}
                  alt={fileName(name)}
                  loading="lazy"
                  onError={() => {
                    broken.value = [...broken.value, name]
                  }}
                />
              </button>
            </li>
          ))}
        </ul>
      )}
      {files.length > 0 && <FileNames names={files} openFile={openFile} />}
    </>
  )
}

type FileNamesProps = { names: readonly string[]; openFile: ((path: string) => void) | undefined }

function FileNames({ names, openFile }: FileNamesProps) {
  return (
    <ul class="user-files" aria-label={t('tx.attached')}>
      {names.map(name => (
        <li key={name}>
          <Icon name="paperclip" size={14} />{' '}
          {openFile && !name.endsWith('/') ? (
            <button
              type="button"
              class="tx-link"
              aria-label={t('tx.file.open', { name })}
              onClick={() => openFile(name)}
            >
              {fileName(name)}
            </button>
          ) : (
            fileName(name)
          )}
        </li>
      ))}
    </ul>
  )
}
