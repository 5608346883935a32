//! Samples of many series, kept as runs: stretches of equal values at equal distances.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::labels::{Key, Labels, Metric};

/// Series of one record that are read; more is a mistake of a label, or meant to fill the memory.
pub(super) const SERIES_MAX: usize = 2_000_000;
/// Nanoseconds of a millisecond.
const MILLISECOND: i64 = 1_000_000;

/// Samples of one value at equal distances, a fifth more or less. Times are nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub first: i64,
    pub last: i64,
    /// The distance; 0 as long as there is one sample.
    pub step: i64,
    pub value: f64,
    /// Which sample of its series the first one is, counted from 1.
    pub place: u32,
    pub count: u32,
}

/// One series as one scraper had it.
#[derive(Debug)]
struct Track {
    source: u64,
    runs: Vec<Run>,
    count: u32,
    /// Samples that came out of the order of time.
    late: Vec<(i64, f64, u32)>,
}

/// Which track of which series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    series: usize,
    track: usize,
}

/// A series of which no more comes: what each source had of it.
type Settled = (Key, Vec<(u64, Vec<Run>)>);

/// Everything that was read of a record.
#[derive(Debug, Default)]
pub(super) struct Samples {
    index: FxHashMap<Key, usize>,
    series: Vec<(Key, Vec<Track>)>,
    /// Values of the label `cluster`.
    pub clusters: BTreeSet<String>,
    /// Series beyond [`SERIES_MAX`].
    pub dropped: usize,
    /// Series of other metrics.
    pub others: usize,
    /// Samples whose time or value cannot be read.
    pub bad: usize,
}

/// A stretch in which a series, whoever scraped it, had one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub first: i64,
    pub last: i64,
    pub value: f64,
    pub place: u32,
}

/// A series once all of it has been read.
#[derive(Debug)]
pub(super) struct Line {
    pub key: Key,
    pub spans: Vec<Span>,
    pub sources: Vec<u64>,
}

/// When a scraper brought samples at all: first and last of each stretch without a gap.
pub(super) type Coverage = BTreeMap<u64, Vec<(i64, i64)>>;

/// All series in the order of their keys, what is common to them, and who watched when.
#[derive(Debug)]
pub(super) struct Table {
    pub lines: Vec<Line>,
    pub coverage: Coverage,
    /// Between samples.
    pub step: i64,
    /// How much later than that a sample may come.
    pub slack: i64,
}

impl Run {
    fn one(at: i64, value: f64, place: u32) -> Self {
        Self { first: at, last: at, step: 0, value, place, count: 1 }
    }
}

impl Track {
    fn push(&mut self, at: i64, value: f64) {
        self.count = self.count.saturating_add(1);
        let place = self.count;
        match self.runs.last_mut() {
            Some(run) if at == run.last && value == run.value => {}
            Some(run) if at <= run.last => self.late.push((at, value, place)),
            Some(run) if value == run.value && (run.count == 1 || is_near(at.saturating_sub(run.last), run.step)) => {
                if run.count == 1 {
                    run.step = at.saturating_sub(run.last);
                }
                run.last = at;
                run.count = run.count.saturating_add(1);
            }
            _ => self.runs.push(Run::one(at, value, place)),
        }
    }

    /// What came out of order is sorted in as if somebody else had scraped it.
    fn settle(mut self) -> Vec<Run> {
        if self.late.is_empty() {
            return self.runs;
        }
        let mut late = std::mem::take(&mut self.late);
        late.sort_by(|a, b| a.0.cmp(&b.0).then(a.2.cmp(&b.2)));
        let mut other = Self { source: self.source, runs: Vec::new(), count: 0, late: Vec::new() };
        for (at, value, place) in late {
            other.count = place.saturating_sub(1);
            other.push(at, value);
        }
        self.runs.extend(other.runs);
        self.runs
    }
}

fn is_near(distance: i64, step: i64) -> bool {
    (distance - step).abs() <= step / 5
}

impl Samples {
    /// The place of a series of these labels; nothing if it is not read.
    pub(super) fn open(&mut self, labels: &Labels) -> Option<Place> {
        let Some(key) = labels.key() else {
            self.others += 1;
            return None;
        };
        if !labels.cluster.is_empty() && !self.clusters.contains(&labels.cluster) && self.clusters.len() < 100 {
            self.clusters.insert(labels.cluster.clone());
        }
        self.place(key, labels.source)
    }

    pub(super) fn place(&mut self, key: Key, source: u64) -> Option<Place> {
        let series = match self.index.get(&key) {
            Some(series) => *series,
            None if self.series.len() >= SERIES_MAX => {
                self.dropped += 1;
                return None;
            }
            None => {
                self.index.insert(key, self.series.len());
                self.series.push((key, Vec::new()));
                self.series.len() - 1
            }
        };
        let tracks = &mut self.series[series].1;
        let track = tracks.iter().position(|track| track.source == source).unwrap_or_else(|| {
            tracks.push(Track { source, runs: Vec::new(), count: 0, late: Vec::new() });
            tracks.len() - 1
        });
        Some(Place { series, track })
    }

    /// Takes a sample. What is no number is no sample: Prometheus marks the end of a series so.
    pub(super) fn push(&mut self, place: Place, at: i64, value: f64) {
        if value.is_finite() {
            self.series[place.series].1[place.track].push(at, value);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.series.iter().all(|(_, tracks)| tracks.iter().all(|track| track.runs.is_empty()))
    }

    /// Joins what several scrapers had of each series.
    pub(super) fn finish(&mut self) -> Table {
        self.index.clear();
        let mut series: Vec<Settled> = std::mem::take(&mut self.series)
            .into_iter()
            .map(|(key, tracks)| (key, tracks.into_iter().map(|track| (track.source, track.settle())).collect()))
            .collect();
        series.sort_by_key(|(key, _)| *key);
        let distances = distances(&series);
        let step = most_frequent(&distances).unwrap_or(0);
        let slack = slack(&series, step);
        let gap = step.saturating_mul(3) / 2;
        let mut stretches: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        let mut lines = Vec::with_capacity(series.len());
        for (key, tracks) in series {
            let sources = tracks.iter().map(|(source, _)| *source).collect();
            let mut runs: Vec<Run> = Vec::new();
            for (source, track) in tracks {
                let track = track.into_iter().flat_map(|run| without_gap(run, gap));
                let of_source = stretches.entry(source).or_default();
                for run in track {
                    of_source.push((run.first, run.last));
                    runs.push(run);
                }
                // So that memory follows what is told apart, not how many series there are.
                if of_source.len() > 100_000 {
                    join(of_source, gap);
                }
            }
            let spans = spans(runs, gap);
            if !spans.is_empty() {
                lines.push(Line { key, spans, sources });
            }
        }
        stretches.values_mut().for_each(|stretches| join(stretches, gap));
        stretches.retain(|_, stretches| !stretches.is_empty());
        Table { lines, coverage: stretches, step, slack }
    }
}

/// How often which distance between samples occurs; distances of a second and more in whole seconds.
fn distances(series: &[Settled]) -> BTreeMap<i64, u64> {
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    let mut count = |distance: i64, times: u64| {
        let unit = if distance >= 1000 * MILLISECOND { 1000 * MILLISECOND } else { MILLISECOND };
        let rounded = distance.saturating_add(unit / 2) / unit * unit;
        if rounded > 0 {
            *counts.entry(rounded).or_default() += times;
        }
    };
    for runs in series.iter().flat_map(|(_, tracks)| tracks).map(|(_, runs)| runs) {
        for run in runs {
            count(run.step, u64::from(run.count - 1));
        }
        for pair in runs.windows(2) {
            count(pair[1].first.saturating_sub(pair[0].last), 1);
        }
    }
    counts
}

/// The distance that occurs most often, the smaller of several.
fn most_frequent(counts: &BTreeMap<i64, u64>) -> Option<i64> {
    let most = counts.values().max()?;
    counts.iter().find(|(_, count)| *count == most).map(|(distance, _)| *distance)
}

/// Samples on a grid are on time; those of scrapes come a little early or late.
fn slack(series: &[Settled], step: i64) -> i64 {
    let runs = || series.iter().flat_map(|(_, tracks)| tracks).flat_map(|(_, runs)| runs);
    let is_even = step > 0
        && runs().all(|run| {
            let is_on_grid = |distance: i64| distance % step == 0;
            is_on_grid(run.step) && is_on_grid(run.last - run.first)
        });
    if is_even { 0 } else { step / 5 }
}

/// Two samples far apart are no stretch.
fn without_gap(run: Run, gap: i64) -> impl Iterator<Item = Run> {
    let is_torn = run.count > 1 && gap > 0 && run.step > gap;
    let end = Run::one(run.last, run.value, run.place.saturating_add(run.count - 1));
    let begin = if is_torn { Run::one(run.first, run.value, run.place) } else { run };
    [Some(begin), is_torn.then_some(end)].into_iter().flatten()
}

/// Joins stretches that overlap or follow each other without a gap.
fn join(stretches: &mut Vec<(i64, i64)>, gap: i64) {
    stretches.sort_unstable();
    stretches.dedup_by(|next, kept| {
        let is_near = next.0.saturating_sub(kept.1) <= gap;
        if is_near {
            kept.1 = kept.1.max(next.1);
        }
        is_near
    });
}

/// What one series had when, of the runs that all scrapers had of it.
fn spans(mut runs: Vec<Run>, gap: i64) -> Vec<Span> {
    runs.sort_by(|a, b| a.first.cmp(&b.first).then(a.last.cmp(&b.last)));
    // The ends of runs, each with how many runs go on behind it: what lies within a run says no more than its ends.
    let mut ends: Vec<(i64, i32, f64, u32)> = Vec::with_capacity(runs.len() * 2);
    for run in &runs {
        let last = run.place.saturating_add(run.count - 1);
        ends.push((run.first, 1, run.value, run.place));
        ends.push((run.last, -1, run.value, last));
    }
    ends.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut spans: Vec<Span> = Vec::new();
    let mut open = 0;
    for (at, change, value, place) in ends {
        match spans.last_mut() {
            Some(span) if span.value == value && (open > 0 || at.saturating_sub(span.last) <= gap) => {
                span.last = span.last.max(at);
            }
            // Two scrapers that disagree at one instant: the first word counts.
            Some(span) if span.last == at => {}
            _ => spans.push(Span { first: at, last: at, value, place }),
        }
        open += change;
    }
    spans
}

impl Table {
    /// All lines of a metric.
    pub(super) fn of(&self, metric: Metric) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.key.metric == metric)
    }
}
