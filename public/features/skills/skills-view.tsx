/** The skills view: the list by category, and the open skill or form. */
import { useEffect } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { type SkillGroup, type SkillsState, skillsOf } from './skills.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { ListView } from '../shell/view.tsx'
import { SkillForm } from './skill-form.tsx'
import { SkillPage } from './skill-page.tsx'
import { ListSearch, SkillTabs } from './tabs.tsx'
import { useShell } from '../../contexts.ts'
import { may } from '../../parts/may.ts'
import { Beginning, EmptyNote, LoadNote } from '../../parts/view-state.tsx'

type Chosen = { skill: string | null; query: string }

const Row = ({ row, current }: { row: SkillGroup['skills'][number]; current: Chosen }) => {
  const { route } = useShell()
  const mark = !row.compatible ? 'skills.incompatible' : row.enabled ? null : 'skills.off'
  return (
    <li>
      <a
        class={`skill-row${mark ? ' skill-row-off' : ''}`}
        href={route.hrefOf({ view: 'skills', skill: row.name, query: '' })}
        aria-current={row.name === current.skill ? 'page' : undefined}
      >
        <span class="skill-row-name" dir="auto">
          {row.name}
        </span>
        {mark && <span class="skill-mark">{t(mark)}</span>}
        <span class="skill-row-text" dir="auto">
          {row.description}
        </span>
      </a>
    </li>
  )
}

const List = ({ skills, current }: { skills: SkillsState; current: Chosen }) => {
  const groups = skills.groups.value
  const hasOthers = groups.some(({ category }) => category !== null)
  const state = skills.state.value
  if (state !== 'ready') {
    return <LoadNote state={state} failed={t('skills.failed')} onRetry={() => void skills.load()} />
  }
  // The form of the first one is beside it.
  if (skills.rows.value.length === 0) return <EmptyNote title={t('skills.empty')} />
  if (groups.length === 0) {
    return <EmptyNote title={t('skills.none', { query: skills.query.value.trim() })} />
  }
  return (
    <>
      {groups.map(group => (
        <section key={group.category ?? ''}>
          {hasOthers && (
            <h2 class="skill-category" title={group.description || undefined}>
              {group.category ?? t('skills.other')}
            </h2>
          )}
          <ul>
            {group.skills.map(row => (
              <Row key={row.name} row={row} current={current} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

const FirstSkill = ({ skills }: { skills: SkillsState }) => {
  const example = {
    label: t('skills.example'),
    text: '/release-notes',
    onUse: () => skills.form.create('release-notes', t('skills.example.content')),
  }
  return (
    <>
      <SkillTabs tab="skills" />
      <Beginning
        title={t('skills.empty')}
        text={t('skills.empty.text')}
        {...(may('POST /api/skills/save') && { examples: [example] })}
      >
        <Button
          asks="POST /api/skills/save"
          kind="primary"
          icon="plus"
          onClick={() => skills.form.create()}
        >
          {t('skills.new')}
        </Button>
      </Beginning>
    </>
  )
}

export const SkillsView = ({ skill, query }: Chosen) => {
  const app = useApp()
  const skills = skillsOf(app)
  const { route } = app.shell
  const profile = app.profiles.active.value
  const draft = skills.form.draft.value

  useEffect(() => void skills.load(), [profile])
  useEffect(() => void skills.read(skill), [skill, profile])
  useEffect(() => {
    if (query) skills.query.value = query
  }, [query])

  const isFirst =
    skills.state.value === 'ready' && skills.rows.value.length === 0 && !draft && skill === null
  return (
    <ListView
      title={t('skills.title')}
      beginning={isFirst && <FirstSkill skills={skills} />}
      actions={
        !isFirst && (
          <Button
            asks="POST /api/skills/save"
            icon="plus"
            onClick={() => {
              if (!draft) skills.form.create()
            }}
          >
            {t('skills.new')}
          </Button>
        )
      }
      listLabel={t('skills.list')}
      finder={
        <>
          <SkillTabs tab="skills" />
          <ListSearch label={t('skills.search')} query={skills.query} />
        </>
      }
      list={<List skills={skills} current={{ skill, query }} />}
      open={draft !== null || skill !== null}
      // A form is left with its own buttons.
      back={
        draft
          ? null
          : {
              href: route.hrefOf({ view: 'skills', skill: null, query: '' }),
              label: t('skills.back'),
            }
      }
    >
      {draft ? (
        <SkillForm skills={skills} draft={draft} />
      ) : skill !== null ? (
        <SkillPage skills={skills} name={skill} />
      ) : (
        skills.rows.value.length > 0 && <EmptyNote title={t('skills.choose')} />
      )}
    </ListView>
  )
}
