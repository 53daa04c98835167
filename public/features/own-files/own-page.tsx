/** The page of one command or subagent: what it is, its text, and what can be done with it. */
import type { ComponentChildren } from 'preact'
import type { OwnFile } from '../../../lib/schema/own-file.ts'
import { listOf } from '../../strings/t.ts'
import { Button } from '../../parts/button.tsx'
import { MenuButton } from '../../parts/menu-button.tsx'
import { NoteBox } from '../../parts/note-box.tsx'
import { LoadNote } from '../../parts/view-state.tsx'
import { useApp } from '../shell/context.ts'
import { putIntoMessage } from '../composer/put-into-message.ts'
import { type OwnFilesState, ownFileTitle } from './own-files.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './strings.ts'

const Notes = ({ file }: { file: OwnFile }) => {
  const { problem } = file
  return (
    <NoteBox
      warns={problem !== null}
      lines={[
        problem === 'front_matter'
          ? t('own.problem.front_matter', {
              problem: causeText(
                file.front_matter_problem ?? '',
                file.sentences?.front_matter_problem,
              ),
            })
          : problem && t(`own.problem.${problem}`),
        file.read_only && t('own.readonly'),
        file.other_keys.length > 0 && t('own.other', { keys: file.other_keys }),
      ]}
    />
  )
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const Facts = ({ file }: { file: OwnFile }) => (
  <dl class="own-facts">
    {file.argument_hint && (
      <Fact name={t('own.fact.arguments')}>
        <code dir="auto">{file.argument_hint}</code>
      </Fact>
    )}
    {file.kind === 'subagent' && (
      <>
        <Fact name={t('own.fact.model')}>
          {file.model ? <bdi>{file.model}</bdi> : t('own.model.default')}
        </Fact>
        <Fact name={t('own.fact.tools')}>
          {file.tools ? <bdi>{listOf(file.tools)}</bdi> : t('own.tools.all')}
        </Fact>
      </>
    )}
    <Fact name={t('own.fact.file')}>
      <code dir="ltr">{file.file}</code>
    </Fact>
  </dl>
)

const Body = ({ file, files }: { file: OwnFile; files: OwnFilesState }) => {
  const app = useApp()
  const { layout, route } = app.shell
  const name = ownFileTitle(file)
  const remove = () => {
    layout.confirmation.value = {
      title: t('own.delete.title', { name }),
      text: t('own.delete.text', { file: file.file }),
      confirm: t('app.delete'),
      danger: true,
      async run() {
        await files.remove(file)
        const tab = `${file.kind}s` as const
        route.goWithin({ view: 'skills', tab, skill: null, query: '' }, { replace: true })
      },
    }
  }
  const tryOut = () =>
    putIntoMessage(app, file.kind === 'command' ? `${name} ` : t('own.try.subagent', { name }))
  // What has no effect cannot be called.
  const works = file.problem === null || file.problem === 'front_matter'
  return (
    <article class="skill">
      <header class="skill-head">
        <div class="skill-title">
          <h2 class="view-title">
            <bdi>{name}</bdi>
          </h2>
        </div>
        {works && (
          <Button asks="POST /api/chat/start" icon="play" onClick={tryOut}>
            {t('own.try')}
          </Button>
        )}
        {!file.read_only && (
          <Button asks="POST /api/own-files/save" icon="edit" onClick={() => files.edit()}>
            {t('app.edit')}
          </Button>
        )}
        <MenuButton
          asks="POST /api/chat/start"
          label={t('own.menu', { name })}
          items={() => [
            {
              label: t('own.insert'),
              icon: 'plus',
              asks: 'POST /api/chat/start',
              run: () => putIntoMessage(app, file.text),
            },
            {
              label: t('own.duplicate'),
              icon: 'duplicate',
              asks: 'POST /api/own-files/save',
              run: () => files.duplicate(),
            },
            ...(file.read_only
              ? []
              : [
                  'line' as const,
                  {
                    label: t('app.delete'),
                    icon: 'trash' as const,
                    danger: true,
                    asks: 'POST /api/own-files/delete' as const,
                    run: remove,
                  },
                ]),
          ]}
        />
      </header>
      {file.description && <p class="skill-lead">{file.description}</p>}
      <Facts file={file} />
      <Notes file={file} />
      {/* As it is sent: Markdown would read “$1 and $2” as a formula. */}
      <pre class="own-text" dir="auto">
        {file.text}
      </pre>
    </article>
  )
}

export const OwnPage = ({ files, name }: { files: OwnFilesState; name: string }) => {
  const file = files.open.value
  return file ? (
    <Body file={file} files={files} />
  ) : (
    <LoadNote
      state={files.opening.value}
      failed={t('own.missing', { name })}
      onRetry={() => void files.read(name)}
    />
  )
}
