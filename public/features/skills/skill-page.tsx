/** The page of one skill: description, requirements, text, and files. */
import { useId } from 'preact/hooks'
import type { Skill } from '../../../lib/schema/skill.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button } from '../../parts/button.tsx'
import { Switch } from '../../parts/field.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { NoteBox } from '../../parts/note-box.tsx'
import { MenuButton } from '../../parts/menu-button.tsx'
import { bodyOf, type SkillsState } from './skills.ts'
import { enSkills, t } from './strings.ts'
import { LinkedFile } from './skill-file.tsx'
import { useShell } from '../../contexts.ts'
import { LoadNote } from '../../parts/view-state.tsx'

const kindName = (kind: string): string => {
  const key = `kind.${kind}` as keyof typeof enSkills & `kind.${string}`
  return key in enSkills ? t(key) : kind
}

const Files = ({ skill, skills }: { skill: Skill; skills: SkillsState }) => {
  const kinds = Object.entries(skill.linked_files)
  if (kinds.length === 0) return null
  const { value: file } = skills.file.open
  return (
    <section class="skill-files">
      <h3>{t('skills.files')}</h3>
      {kinds.map(([kind, paths]) => (
        <div key={kind} class="skill-kind">
          <h4>{kindName(kind)}</h4>
          <ul>
            {paths.map(path => (
              <li key={path}>
                <button
                  type="button"
                  class="skill-file-button"
                  aria-pressed={file?.path === path}
                  onClick={() => {
                    if (file?.path === path) skills.file.close()
                    else void skills.file.read(path)
                  }}
                >
                  <Icon name="file" size={16} />
                  <span>{path.slice(kind.length + 1)}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <LinkedFile file={skills.file} skill={skill.name} readOnly={skill.read_only} />
    </section>
  )
}

const Notes = ({ skill }: { skill: Skill }) => {
  const missing = [
    ...skill.missing_required_environment_variables,
    ...skill.missing_required_commands,
    ...skill.missing_credential_files,
  ]
  return (
    <NoteBox
      warns={missing.length > 0}
      lines={[
        skill.read_only && t('skills.readonly'),
        !skill.compatible && t('skills.unsupported'),
        missing.length > 0 && t('skills.needs', { names: missing }),
        missing.length > 0 && skill.setup_help,
      ]}
    />
  )
}

const Body = ({ skill, skills }: { skill: Skill; skills: SkillsState }) => {
  const { layout, route } = useShell()
  const switchId = useId()
  const remove = () => {
    layout.confirmation.value = {
      title: t('skills.delete.title', { name: skill.name }),
      text: t('skills.delete.text'),
      confirm: t('app.delete'),
      danger: true,
      async run() {
        await skills.remove(skill.name)
        route.goWithin({ view: 'skills', skill: null, query: '' }, { replace: true })
      },
    }
  }
  return (
    <article class="skill">
      <header class="skill-head">
        <div class="skill-title">
          <h2 class="view-title">{skill.name}</h2>
          <p class="skill-place">
            {skill.category && <span>{skill.category}</span>}
            {skill.enabled && skill.compatible && (
              <span>{t('skills.call', { slug: `/${skill.slug}` })}</span>
            )}
          </p>
        </div>
        {may('POST /api/skills/toggle') && (
          <label class="skill-switch" for={switchId}>
            <span>{t('skills.enabled')}</span>
            <Switch
              id={switchId}
              describedBy={undefined}
              checked={skill.enabled}
              onChange={on => void skills.toggle(skill.name, on)}
            />
          </label>
        )}
        {!skill.read_only && may('POST /api/skills/save') && (
          <>
            <Button icon="edit" onClick={() => skills.form.edit(skill)}>
              {t('app.edit')}
            </Button>
            <MenuButton
              label={t('skills.menu', { name: skill.name })}
              items={() => [{ label: t('app.delete'), icon: 'trash', danger: true, run: remove }]}
            />
          </>
        )}
      </header>
      <p class="skill-lead">{skill.description}</p>
      {skill.tags.length > 0 && (
        <ul class="skill-tags" aria-label={t('skills.tags')}>
          {skill.tags.map(tag => (
            <li key={tag}>{tag}</li>
          ))}
        </ul>
      )}
      <Notes skill={skill} />
      <Markdown key={skill.version} text={bodyOf(skill.content)} id="skill" />
      <Files skill={skill} skills={skills} />
    </article>
  )
}

export const SkillPage = ({ skills, name }: { skills: SkillsState; name: string }) => {
  const skill = skills.open.value
  return skill ? (
    <Body skill={skill} skills={skills} />
  ) : (
    <LoadNote
      state={skills.opening.value}
      failed={t('skills.missing', { name })}
      onRetry={() => void skills.read(name)}
    />
  )
}
