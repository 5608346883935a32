//! Held against grids of which the best is known.

use super::super::grid::TODAY;
use super::super::results::tests::results;
use super::*;

/// Two workloads, of which each has its own best value among three.
pub(in crate::study) fn mixed(today: usize) -> Results {
    let of = |costs: [[f64; 2]; 3]| -> Results {
        let noise = [0.0, 1.0, 0.5, 0.2, 0.9, 0.4];
        let totals: Vec<Vec<f64>> =
            costs.iter().map(|of| noise.iter().map(|x| of[0] + of[1] + 10.0 * x).collect()).collect();
        let mut results = results(&totals.iter().map(Vec::as_slice).collect::<Vec<_>>());
        results.tuned = vec![("deployment/d/a".into(), 0), ("deployment/d/b".into(), 0)];
        for (variant, runs) in results.runs.iter_mut().enumerate() {
            for run in runs {
                let wobble = noise[run.replication as usize] * 0.01 * (variant + 1) as f64;
                run.workloads = vec![0.0; 2 * WORKLOAD_METRICS.len()].into();
                run.workloads[0] = costs[variant][0] + wobble;
                run.workloads[WORKLOAD_METRICS.len()] = costs[variant][1] + wobble;
            }
        }
        results.baseline = today;
        results
    };
    of([[5.0, 1.0], [2.0, 3.0], [4.0, 9.0]])
}

#[test]
fn each_workload_has_a_value_of_its_own() {
    let tuning = mixed(2).tuning().expect("priced");
    let found: Vec<_> = tuning.workloads.iter().map(|of| (of.best.as_str(), of.today.as_str(), of.is_clear)).collect();
    assert_eq!(found, [("1", "2", true), ("0", "2", true)]);
    assert_eq!(tuning.workloads[0].runner_up.as_deref(), Some("2"));
    assert!(tuning.workloads[0].against_today.high < 0.0 && tuning.others.is_empty() && !tuning.changes_others);
}

#[test]
fn of_what_is_told_to_cost_the_same_the_fewest_changes_are_made() {
    let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
    let column = |mean: f64, share: f64| noise.map(|x| mean + share * x);
    let check = |last: [f64; 8], expected: [&str; 2]| {
        // Grace 50 and 90 with lease 20 and 40.
        let columns = [column(10.0, 1.0), column(10.1, -1.0), column(4.0, 1.0), last];
        let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
        grid.axes = vec!["grace".into(), "lease".into()];
        grid.levels = vec![vec!["50s".into(), "90s".into()], vec!["20".into(), "40".into()]];
        grid.variants = [["50s", "20"], ["50s", "40"], ["90s", "20"], ["90s", "40"]]
            .map(|of| of.map(str::to_owned).to_vec())
            .to_vec();
        grid.baseline = 1;
        let tuning = grid.tuning().expect("priced");
        let values: Vec<&str> = tuning.others.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!((values, tuning.changes_others), (expected.to_vec(), true));
        assert_eq!(tuning.alike_others.len(), 1);
    };
    // The lease makes no difference in any run.
    check(column(4.000_1, 1.001), ["90s", "40"]);
    // It makes one in every run, up and down: nobody knows which is cheaper, and the lower mean is the better guess.
    check(column(4.05, -1.0), ["90s", "20"]);
}

#[test]
fn what_saves_too_little_is_left_as_it_is() {
    let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
    let check = |saved: f64, expected: (bool, bool)| {
        let columns = [noise.map(|x| 1000.0 + x - saved), noise.map(|x| 1000.0 + x)];
        let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
        grid.tuned = vec![("deployment/d/a".into(), 0)];
        for (variant, runs) in grid.runs.iter_mut().enumerate() {
            for run in runs {
                run.workloads = vec![0.0; WORKLOAD_METRICS.len()].into();
                run.workloads[0] = columns[variant][run.replication as usize];
            }
        }
        grid.baseline = 1;
        let choice = &grid.tuning().expect("priced").workloads[0];
        assert_eq!((choice.is_clear, choice.is_slight), expected, "{saved}");
    };
    check(3.0, (false, true));
    check(30.0, (true, false));
}

#[test]
fn how_much_is_too_little_is_what_the_study_says() {
    let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
    let columns = [noise.map(|x| 970.0 + x), noise.map(|x| 1000.0 + x)];
    let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
    grid.baseline = 1;
    let changes = |grid: &Results| grid.tuning().expect("priced").changes_others;
    assert!(changes(&grid));
    grid.indifference = 0.05;
    assert!(!changes(&grid));
}

#[test]
fn the_front_of_a_workload_is_what_no_value_is_told_to_beat() {
    // The second value is lower by chance in what is missing; both are told to be better than the third.
    let mut grid = mixed(2);
    let noise = [0.0, 1.0, 0.5, 0.2, 0.9, 0.4];
    for (variant, mean) in [(0, 10.0), (1, 10.9), (2, 30.0)] {
        for run in &mut grid.runs[variant] {
            let sign = if variant == 1 { -1.0 } else { 1.0 };
            run.workloads[1] = mean + sign * noise[run.replication as usize];
            run.workloads[3] = 2.0;
        }
    }
    assert_eq!(grid.tuning().expect("priced").workloads[0].front, ["0", "1"]);
}

#[test]
fn what_never_varied_is_no_certainty() {
    // A value that cost nothing in eight runs, where another one cost a thousand in one of them.
    let columns = [[0.0; 8], [5.0, 5.2, 4.8, 1000.0, 5.1, 4.9, 5.3, 5.0]];
    let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
    grid.axes = vec!["grace".into()];
    grid.baseline = 1;
    assert!(!grid.tuning().expect("priced").changes_others);
}

#[test]
fn what_is_there_must_be_beaten_also_if_the_grid_does_not_have_it() {
    let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
    let column = |mean: f64| noise.map(|x| mean + x);
    let check = |today: f64, expected: (&str, bool)| {
        // Seven and eight nodes; six, as it is, stand behind the grid.
        let columns = [column(70.0), column(80.0), column(today)];
        let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
        grid.axes = vec!["nodes".into()];
        grid.levels = vec![vec!["7".into(), "8".into()]];
        grid.variants = ["7", "8", TODAY].map(|of| vec![of.to_owned()]).to_vec();
        grid.baseline = 2;
        let tuning = grid.tuning().expect("priced");
        assert_eq!((tuning.others[0].1.as_str(), tuning.changes_others), expected);
    };
    check(60.0, (TODAY, false));
    check(90.0, ("7", true));
}

#[test]
fn tolerations_are_compared_among_equals_if_the_rest_of_today_was_not_played() {
    // Seven or eight nodes, each with 0 and 300 seconds; today there are six nodes, which cost least, with 300.
    let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
    let (totals, own) = ([70.0, 75.0, 80.0, 85.0, 65.0], [5.0, 10.0, 5.0, 10.0, 10.0]);
    let columns = totals.map(|mean| noise.map(|x| mean + x));
    let mut grid = results(&columns.each_ref().map(|column| column.as_slice()));
    grid.axes = vec!["nodes".into(), "wait".into()];
    grid.levels = vec![vec!["7".into(), "8".into()], vec!["0".into(), "300".into()]];
    let variants = [["7", "0"], ["7", "300"], ["8", "0"], ["8", "300"], [TODAY, "300"]];
    grid.variants = variants.map(|of| of.map(str::to_owned).to_vec()).to_vec();
    grid.baseline = 4;
    grid.tuned = vec![("deployment/d/a".into(), 1)];
    for (variant, runs) in grid.runs.iter_mut().enumerate() {
        for run in runs {
            let mut values = vec![0.0; WORKLOAD_METRICS.len()];
            values[0] = own[variant] + 0.01 * noise[run.replication as usize] * variant as f64;
            run.workloads = values.into();
        }
    }
    let tuning = grid.tuning().expect("priced");
    assert_eq!((tuning.others[0].1.as_str(), tuning.changes_others), (TODAY, false));
    assert_eq!((tuning.workloads[0].best.as_str(), tuning.workloads[0].is_clear), ("0", true));
    // Without the 300 of today in the grid nothing says whether nodes or waiting made the difference.
    grid.levels[1][1] = "200".into();
    for variant in [1, 3] {
        grid.variants[variant][1] = "200".into();
    }
    let tuning = grid.tuning().expect("priced");
    assert!(!tuning.changes_others && !tuning.workloads[0].is_clear);
}

/// Two workloads that cost nothing of their own, in a cluster that loses traffic.
fn of_lost_traffic(totals: [f64; 3]) -> Results {
    let mut results = mixed(2);
    let noise = [0.0, 1.0, 0.5, 0.2, 0.9, 0.4];
    for (variant, runs) in results.runs.iter_mut().enumerate() {
        for run in runs {
            let cost = totals[variant] + noise[run.replication as usize];
            *run.metrics.last_mut().expect("the cost") = cost;
            run.workloads = vec![0.0; 2 * WORKLOAD_METRICS.len()].into();
        }
    }
    results
}

#[test]
fn what_belongs_to_no_workload_decides_for_the_whole_cluster() {
    let mut results = of_lost_traffic([100.0, 20.0, 400.0]);
    results.prices.push(("lost_traffic_s".into(), 1.0));
    // Taken apart, 0 costs the workloads least.
    for run in results.runs.iter_mut().skip(1).flatten() {
        (run.workloads[0], run.workloads[WORKLOAD_METRICS.len()]) = (9.0, 9.0);
    }
    let tuning = results.tuning().expect("priced");
    assert_eq!((tuning.others[0].1.as_str(), tuning.changes_others), ("1", true));
    assert_eq!(
        (tuning.whole_for.as_slice(), tuning.recommended_variant()),
        (&["lost_traffic_s".to_owned()][..], Some(1))
    );
    assert_eq!(results.comparison().expect("priced").best, 1);
    let summary: serde_json::Value = serde_json::from_str(&results.summary_json(Some(&tuning), None)).expect("JSON");
    assert_eq!(summary["recommendation"]["best"], 1);
    // Nodes at t=0 are the same whatever is tolerated.
    results.prices = vec![("evictions".into(), 1.0), ("node_h".into(), 1.0), ("lost_traffic_s".into(), 0.0)];
    assert!(results.tuning().expect("priced").whole_for.is_empty());
}

#[test]
fn what_is_told_of_the_whole_is_not_denied_because_no_workload_shows_it() {
    let tuning = of_lost_traffic([100.0, 20.0, 400.0]).tuning().expect("priced");
    assert_eq!((tuning.recommended_variant(), tuning.changes()), (Some(1), true));
    let tuning = of_lost_traffic([100.0, 20.0, 10.0]).tuning().expect("priced");
    assert_eq!((tuning.recommended_variant(), tuning.changes()), (Some(2), false));
}

#[test]
fn what_is_recommended_is_a_variant_if_all_workloads_agree() {
    // The workloads want 1 and 0; with 1 or 0 today one of them changes.
    assert_eq!((0..3).map(|today| mixed(today).tuning().expect("priced").of_grid).collect::<Vec<_>>(), [None; 3]);
    let mut agreed = mixed(2);
    for run in &mut agreed.runs[1] {
        run.workloads[WORKLOAD_METRICS.len()] = 0.1;
    }
    assert_eq!(agreed.tuning().expect("priced").of_grid, Some(1));
}

#[test]
fn the_value_that_is_there_already_is_no_change() {
    let tuning = mixed(1).tuning().expect("priced");
    assert!(!tuning.workloads[0].is_clear && tuning.workloads[1].is_clear);
}

/// Workloads under two values, of which the second is today's: what each costs in the runs of each, and the rest.
fn of_workloads(own: &[[[f64; 8]; 2]], rest: [f64; 2]) -> Results {
    let total = |variant: usize| -> Vec<f64> {
        (0..8).map(|run| rest[variant] + own.iter().map(|of| of[variant][run]).sum::<f64>()).collect()
    };
    let (first, second) = (total(0), total(1));
    let mut grid = results(&[&first, &second]);
    grid.tuned = (0..own.len()).map(|workload| (format!("deployment/d/{workload}"), 0)).collect();
    for (variant, runs) in grid.runs.iter_mut().enumerate() {
        for run in runs {
            run.workloads = vec![0.0; own.len() * WORKLOAD_METRICS.len()].into();
            for (workload, of) in own.iter().enumerate() {
                run.workloads[workload * WORKLOAD_METRICS.len()] = of[variant][run.replication as usize];
            }
        }
    }
    grid.baseline = 1;
    grid
}

const NOISE: [f64; 8] = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];

#[test]
fn what_several_workloads_show_together_each_of_them_gets() {
    // The first pays for itself. Of the others each may or may not, but what one loses in a run the other one gains.
    let own = [
        [NOISE.map(|x| 5.0 + x), NOISE.map(|x| 20.0 - x)],
        [NOISE.map(|x| 8.0 + 9.0 * x), NOISE.map(|x| 10.0 + 0.1 * x)],
        [NOISE.map(|x| 8.0 - 9.0 * x), NOISE.map(|x| 10.0 - 0.1 * x)],
    ];
    let tuning = of_workloads(&own, [100.0, 100.0]).tuning().expect("priced");
    let found: Vec<_> = tuning.workloads.iter().map(|of| (of.is_clear, of.recommended.as_str())).collect();
    assert_eq!(found, [(true, "0"), (false, "0"), (false, "0")]);
    let together = &tuning.together[0];
    assert_eq!((together.value.as_str(), together.today.as_str(), together.workloads.len()), ("0", "1", 2));
    assert!(together.against_today.high < 0.0 && tuning.recommended_variant() == Some(0));
    // Where they do not make up for each other, they stay.
    let own = [own[0], own[1], [NOISE.map(|x| 8.0 + 9.0 * x), NOISE.map(|x| 10.0 + 0.1 * x)]];
    let tuning = of_workloads(&own, [100.0, 100.0]).tuning().expect("priced");
    let found: Vec<_> = tuning.workloads.iter().map(|of| (of.changes(), of.recommended.as_str())).collect();
    assert_eq!(found, [(true, "0"), (false, "1"), (false, "1")]);
    assert!(tuning.together.is_empty() && tuning.csv().lines().any(|row| row.ends_with(",1,")));
}

#[test]
fn no_variant_that_is_told_to_be_cheaper_stands_beside_the_recommendation() {
    // The first pays for itself, the second does not say; what is no workload's own tells of the value for both.
    let own = [[NOISE.map(|x| 5.0 + x), NOISE.map(|x| 20.0 - x)], [NOISE.map(|x| 9.9 + x), NOISE.map(|x| 10.0 - x)]];
    let tuning = of_workloads(&own, [50.0, 100.0]).tuning().expect("priced");
    assert!(tuning.beats_each && tuning.workloads.is_empty() && tuning.changes());
    assert_eq!(tuning.recommended_variant(), Some(0));
    let tuning = of_workloads(&own, [100.0, 100.0]).tuning().expect("priced");
    assert_eq!((tuning.beats_each, tuning.workloads.len()), (false, 2));
}

#[test]
fn nodes_that_follow_pods_are_no_reason_for_a_value_of_its_own() {
    let mut results = mixed(2);
    results.prices = vec![("evictions".into(), 1.0), ("node_h".into(), 1.0)];
    assert!(results.tuning().expect("priced").whole_for.is_empty());
    let metric = metrics::position(NODE_H).expect("a metric");
    results.runs[1][3].metrics[metric] = 7.5;
    assert_eq!(results.tuning().expect("priced").whole_for, [NODE_H]);
}

#[test]
fn of_what_costs_exactly_the_same_what_is_there_is_the_cheapest() {
    let mut found = mixed(2);
    let alike = found.runs[0].clone();
    for runs in &mut found.runs {
        for (run, of) in runs.iter_mut().zip(&alike) {
            run.metrics = of.metrics.clone();
            run.workloads.fill(0.0);
        }
    }
    let tuning = found.tuning().expect("priced");
    let best: Vec<&str> = tuning.workloads.iter().map(|of| of.best.as_str()).collect();
    assert_eq!(best, ["2", "2"]);
    let mut found = results(&[&[0.0; 3], &[0.0; 3]]);
    found.baseline = 1;
    assert_eq!(found.comparison().expect("priced").best, 1);
}
