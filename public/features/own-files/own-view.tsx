/** The views of own commands and of subagents, beside the skills: the list, and the open file or form. */
import { useEffect } from 'preact/hooks'
import type { OwnFileRow } from '../../../lib/schema/own-file.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Beginning, EmptyNote, LoadNote } from '../../parts/view-state.tsx'
import { useApp } from '../shell/context.ts'
import { ListView } from '../shell/view.tsx'
import { ListSearch, SkillTabs } from '../skills/tabs.tsx'
import { type OwnFilesState, ownFilesOf, ownFileTitle } from './own-files.ts'
import { OwnForm } from './own-form.tsx'
import { OwnPage } from './own-page.tsx'
import { t } from './strings.ts'

type Tab = 'commands' | 'subagents'

const Row = ({ row, current }: { row: OwnFileRow; current: string | null }) => {
  const { route } = useShell()
  const isOff = row.problem !== null && row.problem !== 'front_matter'
  return (
    <li>
      <a
        class={`skill-row${isOff ? ' skill-row-off' : ''}`}
        href={route.hrefOf({ view: 'skills', tab: `${row.kind}s`, skill: row.name, query: '' })}
        aria-current={row.name === current ? 'page' : undefined}
      >
        <span class="skill-row-name">
          <bdi>{ownFileTitle(row)}</bdi>
          {row.argument_hint && <span class="own-hint"> {row.argument_hint}</span>}
        </span>
        {isOff && <span class="skill-mark">{t('own.inactive')}</span>}
        <span class="skill-row-text" dir="auto">
          {row.description}
        </span>
      </a>
    </li>
  )
}

const List = ({ files, current }: { files: OwnFilesState; current: string | null }) => {
  const { kind } = files
  const state = files.state.value
  const visible = files.visible.value
  if (state !== 'ready')
    return (
      <LoadNote state={state} failed={t(`own.${kind}.failed`)} onRetry={() => void files.load()} />
    )
  if (files.rows.value.length === 0) return <EmptyNote title={t(`own.${kind}.empty`)} />
  if (visible.length === 0)
    return <EmptyNote title={t('own.none', { query: files.query.value.trim() })} />
  return (
    <ul>
      {visible.map(row => (
        <Row key={row.name} row={row} current={current} />
      ))}
    </ul>
  )
}

export const OwnView = ({ tab, name }: { tab: Tab; name: string | null }) => {
  const app = useApp()
  const { route } = app.shell
  const kind = tab === 'commands' ? 'command' : 'subagent'
  const files = ownFilesOf(app, kind)
  const profile = app.profiles.active.value
  const draft = files.draft.value

  useEffect(() => void files.load(), [files, profile])
  useEffect(() => void files.read(name), [files, name, profile])

  const isFirst =
    files.state.value === 'ready' && files.rows.value.length === 0 && !draft && name === null
  return (
    <ListView
      title={t(`own.${kind}.list`)}
      beginning={
        isFirst && (
          <>
            <SkillTabs tab={tab} />
            <Beginning title={t(`own.${kind}.empty`)} text={t(`own.${kind}.empty.text`)}>
              <Button
                asks="POST /api/own-files/save"
                kind="primary"
                icon="plus"
                onClick={() => files.create()}
              >
                {t(`own.${kind}.new`)}
              </Button>
            </Beginning>
          </>
        )
      }
      actions={
        !isFirst && (
          <Button
            asks="POST /api/own-files/save"
            icon="plus"
            onClick={() => {
              if (!draft) files.create()
            }}
          >
            {t(`own.${kind}.new`)}
          </Button>
        )
      }
      listLabel={t(`own.${kind}.list`)}
      finder={
        <>
          <SkillTabs tab={tab} />
          <ListSearch label={t(`own.${kind}.search`)} query={files.query} />
        </>
      }
      list={<List files={files} current={name} />}
      open={draft !== null || name !== null}
      // A form is left with its own buttons.
      back={
        draft
          ? null
          : {
              href: route.hrefOf({ view: 'skills', tab, skill: null, query: '' }),
              label: t(`own.${kind}.back`),
            }
      }
    >
      {draft ? (
        <OwnForm
          key={draft.of}
          files={files}
          draft={draft}
          onSaved={newName =>
            route.goWithin(
              { view: 'skills', tab, skill: newName, query: '' },
              { replace: name === newName },
            )
          }
        />
      ) : name !== null ? (
        <OwnPage files={files} name={name} />
      ) : (
        files.rows.value.length > 0 && <EmptyNote title={t(`own.${kind}.choose`)} />
      )}
    </ListView>
  )
}
