/** A commit with its message and the diff of each file. */
import { formatFull } from '../sessions/relative-time.ts'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { GitCommit } from '../../../lib/schema/git.ts'
import { visibleName, visibleWords } from '../../../lib/base/visible.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { parseDiff } from '../../parts/diff.ts'
import { Diff, DiffCounts } from '../../parts/diff-view.tsx'
import { LinkedText } from '../../markdown/linked-text.tsx'
import { useShell } from '../../contexts.ts'
import { t } from './strings.ts'

type Loaded = { commit: GitCommit | null; failed: boolean }
type Props = { session: string; id: string; onClose: () => void }

export const CommitDialog = ({ session, id, onClose }: Props) => {
  const { platform } = useShell()
  const [{ commit, failed }, setLoaded] = useState<Loaded>({ commit: null, failed: false })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    let current = true
    const show = (loaded: Loaded) => current && setLoaded(loaded)
    setLoaded({ commit: null, failed: false })
    platform.api('GET /api/git/commit', { session_id: session, commit: id }).then(
      found => show({ commit: found, failed: false }),
      () => show({ commit: null, failed: true }),
    )
    return () => {
      current = false
    }
  }, [session, id, attempt])
  return (
    <Dialog
      kind="wide"
      title={t('commit.title', { id: id.slice(0, 10) })}
      closeLabel={t('commit.close')}
      onClose={onClose}
    >
      <div class="commit">
        {commit && <Commit commit={commit} />}
        {failed && (
          <div class="panel-blank" role="alert">
            <p>{t('commit.failed')}</p>
            <Button icon="refresh" onClick={() => setAttempt(attempt + 1)}>
              {t('list.retry')}
            </Button>
          </div>
        )}
        {!commit && !failed && (
          <p class="panel-note panel-late" role="status">
            {t('commit.loading')}
          </p>
        )}
      </div>
    </Dialog>
  )
}

const Commit = ({ commit }: { commit: GitCommit }) => {
  const files = useMemo(
    () => parseDiff(commit.diff).filter(({ lines }) => lines.length > 0),
    [commit.diff],
  )
  const rest = commit.truncated ? 0 : commit.files - files.length
  const [subject = '', ...body] = commit.message.split('\n')
  const more = body.join('\n').trim()
  const time = new Date(commit.time * 1000)
  return (
    <>
      <h3 class="commit-subject" dir="auto">
        {visibleWords(subject)}
      </h3>
      {more && (
        <p class="commit-message" dir="auto">
          {visibleWords(more)}
        </p>
      )}
      <p class="commit-facts">
        <bdi title={visibleName(commit.email)}>{visibleName(commit.author)}</bdi>
        <time dateTime={time.toISOString()}>{formatFull(time.getTime() / 1_000)}</time>
        <span>{t('commit.files', { count: commit.files })}</span>
        <CopyButton text={commit.id} label={t('commit.copy')} />
      </p>
      {files.map((file, at) => (
        <section key={at} class="commit-file">
          <h4>
            <bdi>
              <LinkedText text={visibleName(file.path)} code />
            </bdi>
            <DiffCounts added={file.added} removed={file.removed} />
          </h4>
          <Diff file={file} />
        </section>
      ))}
      {rest > 0 && <p class="commit-note">{t('commit.rest', { count: rest })}</p>}
      {commit.truncated && <p class="commit-note">{t('commit.cut')}</p>}
    </>
  )
}
