/** The skills view: the list by category, and the open skill or form. */
import { useEffect } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { type SkillGroup, type SkillsState, skillsOf } from './skills.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { ViewHead } from '../shell/view-head.tsx'
import { SkillForm } from './skill-form.tsx'
import { SkillPage } from './skill-page.tsx'
import { useShell } from '../../contexts.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'

type Chosen = { skill: string | null; query: string }

const Row = ({ row, chosen }: { row: SkillGroup['skills'][number]; chosen: Chosen }) => {
  const { route } = useShell()
  const mark = !row.compatible ? 'skills.incompatible' : row.enabled ? null : 'skills.off'
  return (
    <li>
      <a
        class={`skill-row${mark ? ' skill-row-off' : ''}`}
        href={route.hrefOf({ view: 'skills', skill: row.name, query: '' })}
        aria-current={row.name === chosen.skill ? 'page' : undefined}
      >
        <span class="skill-row-name">{row.name}</span>
        {mark && <span class="skill-mark">{t(mark)}</span>}
        <span class="skill-row-text">{row.description}</span>
      </a>
    </li>
  )
}

const List = ({ skills, chosen }: { skills: SkillsState; chosen: Chosen }) => {
  const groups = skills.groups.value
  const hasOthers = groups.some(({ category }) => category !== null)
  if (skills.state.value === 'loading') return <p class="view-note">{t('app.loading')}</p>
  if (skills.state.value === 'failed') {
    return (
      <div class="view-note" role="alert">
        <p>{t('app.failed')}</p>
        <Button icon="refresh" onClick={() => void skills.load()}>
          {t('app.retry')}
        </Button>
      </div>
    )
  }
  if (skills.rows.value.length === 0) {
    return (
      <div class="view-note">
        <h2>{t('skills.empty')}</h2>
        <p>{t('skills.empty.text')}</p>
      </div>
    )
  }
  if (groups.length === 0) {
    return (
      <p class="view-note" role="status">
        {t('skills.none', { query: skills.query.value.trim() })}
      </p>
    )
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
              <Row key={row.name} row={row} chosen={chosen} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

const Finder = ({ skills }: { skills: SkillsState }) => (
  <search class="search view-search">
    <Icon name="search" size={16} />
    <input
      type="text"
      aria-label={t('skills.search')}
      placeholder={t('skills.search')}
      autocomplete="off"
      value={skills.query.value}
      onInput={event => {
        skills.query.value = event.currentTarget.value
      }}
      onKeyDown={event => {
        if (event.key !== 'Escape' || !skills.query.value) return
        event.stopPropagation()
        skills.query.value = ''
      }}
    />
  </search>
)

export const SkillsView = ({ skill, query }: Chosen) => {
  const app = useApp()
  const skills = skillsOf(app)
  const profile = app.profiles.active.value
  const draft = skills.draft.value

  useEffect(() => void skills.load(), [profile])
  useEffect(() => void skills.read(skill), [skill, profile])
  useEffect(() => {
    if (query) skills.query.value = query
  }, [query])

  const shown = draft !== null || skill !== null
  return (
    <>
      <ViewHead title={t('skills.title')}>
        <IconButton
          icon="plus"
          label={t('skills.new')}
          onClick={() => {
            if (!draft) skills.create()
          }}
        />
      </ViewHead>
      <div class={`pair${shown ? ' pair-shown' : ''}`}>
        <nav class="pair-list" aria-label={t('skills.list')}>
          <Finder skills={skills} />
          <ScrollBox class="pair-scroll" label={t('skills.list')}>
            <List skills={skills} chosen={{ skill, query }} />
          </ScrollBox>
        </nav>
        <div class="pair-main">
          {draft ? (
            <SkillForm skills={skills} draft={draft} />
          ) : skill === null ? (
            skills.rows.value.length > 0 && <p class="view-blank">{t('skills.choose')}</p>
          ) : (
            <SkillPage skills={skills} name={skill} />
          )}
        </div>
      </div>
    </>
  )
}
