// What stands beside the modules in the page.

/** vendor/uPlot.iife.min.js */
declare const uPlot: any;

/** What main.js gives to tests and to those who embed the page. */
declare var kubesquall: any;
