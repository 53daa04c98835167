/** Settings → Updates: the check, applying an update, and its result. */
import { useEffect } from 'preact/hooks'
import type { UpdateResult, UpdateState, UpdateTarget } from '../../../lib/schema/update.ts'
import { Button } from '../../parts/button.tsx'
import { Switch } from '../../parts/field.tsx'
import { lazyState } from '../../parts/lazy-state.ts'
import { Updates } from './updates.ts'
import { errorText } from '../../strings/server-text.ts'
import { t } from './strings.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { useApp } from '../shell/context.ts'
import { SavedRow } from '../settings/saved-row.tsx'
import { useSettings, useShell } from '../../contexts.ts'

const updatesOf = lazyState(
  app =>
    new Updates({
      platform: app.shell.platform,
      simulate: app.settings.simulateUpdates,
      reload: () =>
        app.shell.navigate(app.shell.route.hrefOf({ view: 'settings', section: 'system' })),
    }),
)

const wordsOf = (state: UpdateState): string => {
  if (state.error) return t('fetch failed')
  if (state.behind === 0) return t('current')
  return t('behind', { count: state.behind, branch: state.branch ?? '' })
}

const OUTCOMES = {
  current: () => t('current'),
  done: () => t('done'),
  by_hand: () => t('done.by_hand'),
  running: () => t('running'),
  no_checkout: () => t('none.webui'),
} as const

/** How an installation that is no checkout is updated: docs/install.md has each in full. */
const WAYS = {
  npm: 'npm install -g ./agent-webui-*.tgz',
  image: 'docker compose up --build --detach',
  systemd: 'install agent-webui /usr/local/bin/ && systemctl restart agent-webui',
} as const

const Ways = () => (
  <dl class="facts">
    {(['npm', 'image', 'systemd'] as const).map(way => (
      <div key={way} class="fact">
        <dt>{t(`way.${way}`)}</dt>
        <dd>
          <code dir="ltr">{WAYS[way]}</code>
        </dd>
      </div>
    ))}
  </dl>
)

const outcomeOf = ({ code = '', values, message }: UpdateResult): string => {
  if (Object.hasOwn(OUTCOMES, code)) return OUTCOMES[code as keyof typeof OUTCOMES]()
  if (code === 'not_built')
    return values?.commit
      ? t('not_built.stuck', { reason: values.reason ?? '', commit: values.commit })
      : t('not_built', { reason: values?.reason ?? '' })
  return errorText(code, values) ?? message
}

/** The result of the last attempt, and what can be done about it. */
const Outcome = ({ updates, target }: { updates: Updates; target: UpdateTarget }) => {
  const { layout } = useShell()
  const result = updates.results.value[target]
  if (!result) return null
  const { conflict, diverged } = result
  const advice = (['conflict', 'diverged', 'stash_conflict'] as const).find(flag => result[flag])
  const overwrite = () => {
    layout.confirmation.value = {
      title: t('force.title'),
      text: t('force.text'),
      confirm: t('force'),
      danger: true,
      run: () => updates.apply(target, true),
    }
  }
  return (
    <div class={`update-outcome${result.ok ? '' : ' update-failed'}`} role="status">
      <p>{advice ? t(advice) : outcomeOf(result)}</p>
      {(conflict || diverged) && (
        <Button kind="danger" onClick={overwrite}>
          {t('force')}
        </Button>
      )}
    </div>
  )
}

const Target = ({ updates, target }: { updates: Updates; target: UpdateTarget }) => {
  const result = updates.result.value
  const state = result?.[target]
  const applying = updates.applying.value
  const mine = applying.kind === 'applying' && applying.target === target
  const behind = (state?.behind ?? 0) > 0
  const words = !result || result.disabled ? '' : state ? wordsOf(state) : t(`none.${target}`)
  return (
    <section class="update" aria-labelledby={`update-${target}`}>
      <div class="update-text">
        <h3 id={`update-${target}`}>{t(target)}</h3>
        <p class="update-words">{words}</p>
        {behind && state?.current_sha && (
          <p class="update-versions">
            {t('versions', { from: state.current_sha, to: state.latest_sha ?? '' })}
          </p>
        )}
        {behind && state?.changes && (
          <details class="update-changes">
            <summary>{t('changes')}</summary>
            <p dir="auto">{state.changes}</p>
          </details>
        )}
        {target === 'webui' && result?.webui === null && <Ways />}
        {mine && <p role="status">{t(`applying.${target}`)}</p>}
        {!mine && <Outcome updates={updates} target={target} />}
      </div>
      {behind && (
        <Button
          kind="primary"
          icon="download"
          disabled={applying.kind !== 'idle' && applying.kind !== 'late'}
          onClick={() => void updates.apply(target)}
        >
          {t('apply')}
        </Button>
      )}
    </section>
  )
}

const AutoCheck = () => {
  const settings = useSettings()
  return (
    <SavedRow
      name="check_for_updates"
      label={t('check.auto')}
      hint={t('check.auto.hint')}
      control={ids => (
        <Switch
          id={ids.control}
          describedBy={ids.hint}
          checked={settings.current.value.check_for_updates}
          onChange={on => void settings.save('check_for_updates', on)}
        />
      )}
    />
  )
}

const statusOf = (updates: Updates): string => {
  const { result, checking, problem } = updates
  if (checking.value) return t('checking')
  if (problem.value) return t('failed', { reason: problem.value })
  if (result.value?.disabled) return t('off')
  const at = result.value?.checked_at
  return at ? t('checked', { time: formatFull(at) }) : t('checked.never')
}

export const UpdateSettings = () => {
  const app = useApp()
  const updates = updatesOf(app)
  const enabled = app.settings.current.value.check_for_updates
  useEffect(() => {
    void updates.check()
  }, [enabled])
  const { kind } = updates.applying.value
  return (
    <>
      <p class="view-lead">{t('lead')}</p>
      <div class="rows">
        <AutoCheck />
      </div>
      <div class="update-check">
        <Button
          icon="refresh"
          disabled={updates.checking.value || !enabled}
          onClick={() => void updates.check(true)}
        >
          {t('check.now')}
        </Button>
        <span role="status">{statusOf(updates)}</span>
      </div>
      {(kind === 'restarting' || kind === 'late') && (
        <p class="update-note" role="status">
          {t(kind)}
        </p>
      )}
      <Target updates={updates} target="webui" />
      <Target updates={updates} target="agent" />
      <p class="update-next">{t('next')}</p>
    </>
  )
}
